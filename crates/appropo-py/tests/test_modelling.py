"""Constraints and problems as they are written."""

import appropo as ap
import numpy as np
import pytest


@pytest.mark.parametrize(
    ("constraint", "line"),
    [
        (ap.measure("a") <= 2, "at_most = 2"),
        (ap.measure("a") >= -0.17, "at_least = -0.17"),
        (ap.measure("a") == 1e-7, "equals = 1e-07"),
        (ap.measure("a").between(0, 1), "between = [0.0, 1.0]"),
        (ap.measure("a") <= np.array([1.5, 2]), "at_most = [1.5, 2.0]"),
        (2 * ap.measure("a") - ap.measure("b") <= 3, "halfspace = { normal = [2.0, -1.0], offset = 3.0 }"),
        (ap.measure("a") >= 2 * ap.measure("b") + 1, "halfspace = { normal = [-1.0, 2.0], offset = -1.0 }"),
        (ap.norm(ap.measure("a") - [0.5, 0.5]) <= 0.1, "ball = { center = [0.5, 0.5], radius = 0.1 }"),
        (ap.norm(ap.measure("a") - [0.5], p=1) <= 0.1, "l1_ball = { center = [0.5], radius = 0.1 }"),
    ],
)
def test_constraints_say_what_they_state(constraint, line):
    assert line in constraint.text({})


def test_names_units_and_shares():
    constraint = (ap.measure("visits").share().within(ap.Simplex(3))).named("spread").scaled(0.5)
    assert constraint.text({}) == (
        '[[constraint]]\nname = "spread"\nmeasure = "visits"\nshare = true\nscale = 0.5\nsimplex = { total = 1.0 }\n'
    )
    assert repr(constraint) == "<constraint 'spread' on visits per step: in the simplex of sum 1>"


def test_two_sided_comparisons_are_refused():
    with pytest.raises(ap.ProblemError, match="neither true nor false"):
        0 <= ap.measure("a") <= 1  # noqa: B015


ROVER = [ap.measure("failure") <= 0.2, ap.measure("reward") >= -0.17]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ap.Problem("mars-rover", ROVER, discount=1.5), "discount: found 1.5"),
        (
            lambda: ap.Problem("mars-rover", [ap.measure("failures") <= 1], discount=0.9),
            'did you mean "failure"',
        ),
        (lambda: ap.Problem("mars-rover", ROVER, {"a": 1.0}, discount=0.9), "measures of its own"),
        (
            lambda: ap.Problem(ap.BuiltIn("mars-rover", {"slipp": 1}), ROVER, discount=0.9),
            'did you mean "slip"',
        ),
        (lambda: ap.Problem("mars-rover", [True], discount=0.9), "True is no constraint"),
        (lambda: ap.Problem(7, [], discount=0.9), "env is 7"),
        (lambda: ap.Problem.load("mars-rovr"), "mars-rovr can't be read"),
        (lambda: ap.solve(ap.Problem("mars-rover", ROVER, discount=0.9), oracle="dqn"), '"dqn" is not'),
        (
            lambda: ap.solve(ap.Problem("mars-rover", ROVER, discount=0.9), samplez=1),
            'did you mean "samples"',
        ),
        (lambda: ap.solve(ap.Problem("mars-rover", [], discount=0.9)), "no constraint"),
    ],
)
def test_mistakes_are_told_where_they_are_made(make, said):
    with pytest.raises(ap.ProblemError, match=said):
        make()


def test_a_problem_written_out_is_the_same_problem(tmp_path):
    problem = ap.Problem("mars-rover", ROVER, discount=0.99)
    file = tmp_path / "rover.toml"
    file.write_text(problem.resolved(seed=3))
    again = ap.Problem.load(file)
    assert again.resolved() == problem.resolved(seed=3)
    assert ap.solve(again).measurements["failure"] == ap.solve(problem).measurements["failure"]


def test_settings_of_a_file_are_overridden_wherever_they_stand(tmp_path):
    file = tmp_path / "odd.toml"
    file.write_text(
        'discount = 0.9 # [solve]\n[solve]\nplayer = "ogd"\nseed = 5\n'
        '[environment]\nname = "garnet"\nseed = 7\n[[constraint]]\nmeasure = "m"\nat_most = 9\n'
    )
    text = ap.Problem.load(file).resolved(seed=1, player="fully-corrective")
    assert 'name = "garnet"' in text and "seed = 7" in text
    assert text.endswith("seed = 1\n") and "rounds = 1000  # default" in text
