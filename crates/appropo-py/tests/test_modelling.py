"""Constraints and problems as they are written."""

import appropo as ap
import numpy as np
import pytest

a, b, pair, three = ap.measure("a"), ap.measure("b"), ap.measure("pair"), ap.measure("three")
ENTRIES = {"a": 1, "b": 1, "pair": 2, "three": 3}


@pytest.mark.parametrize(
    ("constraint", "line"),
    [
        (a <= 2, "at_most = 2"),
        (a >= -0.17, "at_least = -0.17"),
        (a == 1e-7, "equals = 1e-7"),
        (a.between(0, 1), "between = [0, 1]"),
        (abs(a) <= 1, "between = [-1, 1]"),
        (pair <= np.array([1.5, 2]), "at_most = [1.5, 2]"),
        (2 * a - b <= 3, "halfspace = { normal = [2, -1], offset = 3 }"),
        (a >= 2 * b + 1, "halfspace = { normal = [-1, 2], offset = -1 }"),
        (a + b == 1, "affine = { rows = [[1, 1]], offsets = [1] }"),
        (abs(a - b - 1) <= 2, "slab = { normal = [1, -1], lower = -1, upper = 3 }"),
        (three[1] <= 0.5, "at_most = 0.5"),
        (three[1].between(0, 1), "between = [0, 1]"),
        (2 * three[1] <= 1, "halfspace = { normal = [2], offset = 1 }"),
        (pair[0] + 2 * pair[1] >= 3, "halfspace = { normal = [-1, -2], offset = -3 }"),
        (three.sum() - three[0] + a <= 10, "halfspace = { normal = [0, 1, 1, 1], offset = 10 }"),
        (ap.measure("a", "pair").sum() <= 1, "halfspace = { normal = [1, 1, 1], offset = 1 }"),
        ([[1, 2], [3, 4]] @ pair <= 5, "polytope = { rows = [[1, 2], [3, 4]], offsets = [5, 5] }"),
        (np.array([1, 2]) @ pair >= 5, "polytope = { rows = [[-1, -2]], offsets = [-5] }"),
        (np.eye(2) @ pair == [1, 2], "affine = { rows = [[1, 0], [0, 1]], offsets = [1, 2] }"),
        (ap.norm(pair - [0.5, 0.5]) <= 0.1, "ball = { center = [0.5, 0.5], radius = 0.1 }"),
        (ap.norm(a - [0.5], p=1) <= 0.1, "l1_ball = { center = [0.5], radius = 0.1 }"),
    ],
)
def test_constraints_say_what_they_state(constraint, line):
    assert constraint.built(ENTRIES)[0].stated == line


def test_what_no_file_can_state():
    assert a.within(ap.Custom(lambda x: x, dim=1)).built(ENTRIES)[0].stated is None


def test_names_units_and_shares():
    constraint = ap.measure("visits").share().within(ap.Simplex(64)).named("spread").scaled(0.5)
    text = ap.Problem("mars-rover", constraint, discount=0.99).resolved()
    assert '[[constraint]]\nname = "spread"\nmeasure = "visits"\nshare = true\nscale = 0.5\nsimplex.total = 1' in text
    assert repr(constraint) == "<constraint 'spread' on visits per step: in the simplex of sum 1, in units of 0.5>"


@pytest.mark.parametrize(
    ("constraint", "shown"),
    [
        (-a <= 1, "-a: at most 1"),
        (a / 2 <= 1, "0.5 a: at most 1"),
        (a.between(0, 1), "a: between 0 and 1"),
        (pair[0] - 10 * pair[1] >= 0, "pair[0] - 10 pair[1]: at least 0"),
        (three.sum() == 2, "three.sum(): equal to 2"),
        (three.share()[1] <= 0.5, "three[1] per step: at most 0.5"),
    ],
)
def test_constraints_are_shown_as_they_were_written(constraint, shown):
    assert repr(constraint) == f"<constraint on {shown}>"


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        (three[3] <= 1, "three\\[3\\] is not there: the measure has 3 entries"),
        (2 * three <= 1, "three has 3 entries; take one of them"),
        ([1, 2] @ three <= 1, "2 dimensions, but its measures 3 entries"),
    ],
)
def test_entries_that_are_not_there(constraint, said):
    with pytest.raises(ap.ProblemError, match=said):
        constraint.built(ENTRIES)


def test_entries_are_those_of_the_measure():
    """What is stated by entries is the same as what is stated by a set."""
    visits, cells = ap.measure("visits"), np.eye(64)
    by_entry = [visits[3] <= 0.5, visits.share()[0] <= 0.02]
    by_set = [visits.within(ap.HalfSpace(cells[3], 0.5)), visits.share().within(ap.HalfSpace(cells[0], 0.02))]
    problems = [ap.Problem("mars-rover", [*ROVER, *more], discount=0.99) for more in (by_entry, by_set)]
    found = [ap.maximize(problem, "reward") for problem in problems]
    assert found[0].value == pytest.approx(found[1].value, abs=1e-6)
    assert found[0].measurements["visits"][3] <= 0.5 + 1e-6 and found[0].verdict == "feasible"
    assert [row["name"] for row in found[0].constraints][2:] == ["visits[3]", "visits[0]"]


@pytest.mark.parametrize(
    ("measured", "name"),
    [(ap.measure("reward"), "reward"), (ap.measure("visits")[3], "visits[3]"), ("visits[3]", "visits[3]")],
)
def test_objectives(measured, name):
    rover = ap.Problem("mars-rover", ROVER, discount=0.99)
    assert ap.maximize(rover, measured).value == ap.maximize(rover, name).value


def test_one_and_several():
    assert repr(ap.Problem("mars-rover", ROVER, discount=0.9)) == "<Problem mars-rover: 2 constraints>"
    assert repr(ap.Problem("mars-rover", ROVER[:1], discount=0.9)) == "<Problem mars-rover: 1 constraint>"


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
            '"failures" is not one of failure, reward, steps, visits; did you mean "failure"',
        ),
        (lambda: ap.Problem("mars-rover", ROVER, {"a": 1.0}, discount=0.9), "measures of its own"),
        (
            lambda: ap.Problem(ap.BuiltIn("mars-rover", {"slipp": 1}), ROVER, discount=0.9),
            'did you mean "slip"',
        ),
        (lambda: ap.Problem("mars-rover", [True], discount=0.9), "True is no constraint"),
        (lambda: ap.Problem("mars-rovr", ROVER, discount=0.9), 'did you mean "mars-rover"'),
        (
            lambda: ap.Problem("CartPole-v1", ap.measure("energy") <= 1, discount=0.9),
            '"energy" is not one of reward, steps; add it to measure={"energy": ...}',
        ),
        (lambda: ap.Problem(7, [], discount=0.9), "env is 7"),
        (lambda: ap.Problem.load("mars-rovr"), "mars-rovr: can't be read .* did you mean"),
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
    assert 'player = "fully-corrective"' in text and "rounds = 1000  # default" in text
    assert text.count("seed = ") == 2 and "\nseed = 1\n" in text
