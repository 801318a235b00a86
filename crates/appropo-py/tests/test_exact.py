"""The exact numbers of the 8x8 rover, from Python."""

import appropo as ap
import numpy as np
import pytest

SAFE = ap.measure("failure") <= 0.2
FAST = ap.measure("reward") >= -0.17


def rover(*constraints, discount=0.99, horizon=None):
    return ap.Problem("mars-rover", constraints, discount=discount, horizon=horizon)


def diversity(radius):
    triangle = uniform_upper_triangle()
    return (ap.norm(ap.measure("visits").share() - triangle) <= radius).named("diversity")


def uniform_upper_triangle():
    grid = ap.Problem.load("mars-rover")._core.grid
    free = [cell == "F" and column >= row for row, line in enumerate(grid) for column, cell in enumerate(line)]
    assert sum(free) == 31
    return np.array(free) / sum(free)


def test_optima():
    largest = ap.maximize(rover(), "reward")
    assert largest.value == pytest.approx(-0.04165632, abs=1e-8)
    assert largest.measurements["failure"] == pytest.approx(0.95834368, abs=1e-8)
    assert ap.maximize(rover(SAFE), "reward").value == pytest.approx(-0.11100520, abs=2e-8)
    assert ap.minimize(rover(FAST), "failure").value == pytest.approx(0.02243969, abs=2e-8)
    assert ap.maximize(rover(SAFE, diversity(0.12)), "reward").value == pytest.approx(-0.1112974, abs=2e-7)
    undiscounted = rover(SAFE, discount=1.0, horizon=300)
    assert ap.maximize(undiscounted, "reward").value == pytest.approx(-0.11878246, abs=2e-8)


def test_an_infeasible_problem_is_proved_to_be():
    result = ap.solve(rover(ap.measure("failure") <= 0.02, ap.measure("reward") >= -0.125))
    assert result.verdict == "infeasible"
    assert result.distance == pytest.approx(0.00460232, abs=1e-7)
    assert result.lower_bound == pytest.approx(0.00460232, abs=1e-6)
    assert "verified: infeasible" in result.verify()


@pytest.mark.parametrize(("radius", "verdict"), [(0.0466, "feasible"), (0.0465, "infeasible")])
def test_the_least_diversity_radius(radius, verdict):
    assert ap.solve(rover(SAFE, FAST, diversity(radius)), tolerance=1e-7).verdict == verdict


def test_the_bandit_needs_exactly_as_many_calls():
    arms = 8
    bandit = ap.Problem(
        ap.BuiltIn("bandit", {"arms": arms}),
        [ap.measure("arms") == np.full(arms, 1 / arms)],
        discount=0.9,
    )
    distances = ap.solve(bandit).history["distance"]
    calls = np.arange(1, arms + 1)
    assert np.allclose(distances[:arms], np.sqrt(1 / calls - 1 / arms), atol=1e-9)


@pytest.mark.parametrize("gap", [0.05, 0.0, -0.1])
def test_planted_answers(gap):
    """The ball of radius r round z* - (r + gap)λ, for z* that minimises λ·z, is at distance gap if that is positive."""
    best = ap.minimize(rover(), "failure").measurements
    z, lam, radius = np.array([best["failure"], best["reward"]]), np.array([1.0, 0.0]), 0.3
    target = ap.measure("failure", "reward").within(ap.Ball(z - (radius + gap) * lam, radius))
    assert ap.solve(rover(target)).distance == pytest.approx(max(gap, 0), abs=1e-6)


def test_the_same_as_the_command_line():
    import json
    import subprocess
    import sys

    command = [sys.executable, "-m", "appropo", "solve", "mars-rover-diverse", "--json"]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    result = ap.solve("mars-rover-diverse")
    assert printed["measurements"]["failure"] == result.measurements["failure"]
    assert printed["measurements"]["visits"] == result.measurements["visits"].tolist()


def test_other_threads_go_on_while_rust_computes():
    import threading

    counted, over = [0], threading.Event()

    def count():
        while not over.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    ap.solve(ap.Problem.load("mars-rover-diverse"), player="ogd", rounds=1000)
    during = counted[0] - before
    over.set()
    thread.join()
    assert during > 10_000


def test_an_expert_is_learnt_from():
    world = ap.BuiltIn("gridworld", {"size": 8, "macro_cell": 2, "seed": 3})
    expert = ap.maximize(ap.Problem(world, discount=0.95), "reward").measurements
    problem = ap.Problem(world, [ap.measure("features") >= expert["features"]], discount=0.95)
    result = ap.solve(problem, method=ap.Apprenticeship())
    assert result.verdict == "feasible" and len(result.policy) == 1
    assert result.measurements["reward"] == pytest.approx(expert["reward"], abs=1e-6)
    for algorithm in ("mwal", "projection"):
        near = ap.solve(problem, method=ap.Apprenticeship(algorithm=algorithm), rounds=200)
        assert near.measurements["reward"] > 0.95 * expert["reward"]
    ball = ap.Problem(world, [ap.norm(ap.measure("features") - expert["features"]) <= 0.5], discount=0.95)
    assert ap.solve(ball, method="apprenticeship").verdict == "feasible"
    with pytest.raises(ap.ProblemError, match='"features" is neither bounds nor half-spaces'):
        ap.solve(ball, method=ap.Apprenticeship(algorithm="lpal"))


def test_multiplicative_weights_keep_room():
    result = ap.solve(rover(SAFE, FAST), player=ap.Hedge())
    assert result.verdict == "feasible"
    with pytest.raises(ap.ProblemError, match='"hedge" needs constraints that are bounds or half-spaces'):
        ap.solve(rover(diversity(0.12)), player=ap.Hedge(eta=0.1))
