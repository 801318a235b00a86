"""The best value of a measure, planned and learnt."""

import math

import appropo as ap
import numpy as np
import pytest
from test_environments import walk

OPTIMUM = -0.11100520


def test_what_is_planned_has_a_bound(tmp_path):
    best = ap.maximize("mars-rover", "reward", run=tmp_path / "run")
    assert isinstance(best, ap.Result) and best.verdict == "feasible"
    assert best.value == pytest.approx(OPTIMUM, abs=2e-8) and best.value <= best.bound < best.value + 1e-6
    assert best.interval is None and best.folder == tmp_path / "run"
    assert "maximize reward: -0.1110052; no feasible policy gets above" in str(best)
    assert "no feasible policy passes" in best.verify()
    again = ap.load(tmp_path / "run")
    assert (again.value, again.bound, again.interval) == (best.value, best.bound, None)
    curve = best.history["objective"]
    assert len(curve) == best.oracle_calls and curve[-1] == pytest.approx(best.value)
    assert "Objective" in best.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert ap.solve("mars-rover").value is None


def test_a_learnt_model():
    best = ap.maximize("mars-rover", "reward", oracle="model", samples=20_000, seed=5)
    assert best.verdict == "feasible" and best.bound is None
    assert 1.05 * OPTIMUM <= best.value <= OPTIMUM + 1e-6
    assert best.interval[0] < best.value < best.interval[1]
    assert "no better found within the budget" in str(best)
    best.verify()


def test_an_environment_of_python(tmp_path):
    """The walk costs where it goes left; every step is worth 1."""
    seen = []
    best = ap.minimize(
        walk(), "cost", oracle=ap.PPO(n_steps=64), samples=6_000, run=tmp_path / "run", callback=seen.append
    )
    assert best.verdict == "feasible" and best.interval[0] <= best.value <= best.interval[1]
    assert best.samples >= 6_000 and seen[-1]["objective"] == pytest.approx(best.value, abs=1)
    best.verify()
    again = ap.load(tmp_path / "run", walk())
    assert (again.value, again.interval) == (best.value, best.interval)
    again.verify()
    assert ap.resume(tmp_path / "run", walk()).value == best.value


def test_an_objective_in_a_file(tmp_path):
    file = tmp_path / "problem.toml"
    text = 'discount = 0.99\nenvironment = { name = "mars-rover" }\nobjective = { maximize = "reward" }\n'
    file.write_text(text + 'constraint = [{ measure = "failure", at_most = 0.2 }]\n', encoding="utf-8")
    assert ap.solve(file).value == pytest.approx(OPTIMUM, abs=2e-8)
    # Another one takes its place.
    assert ap.minimize(file, "failure").value < 0.03


def test_what_is_infeasible_has_no_value():
    none = ap.maximize("mars-rover-infeasible", "reward")
    assert none.verdict == "infeasible" and none.value is None and none.bound is None
    assert "no feasible policy was found" in str(none)
    assert math.isfinite(none.lower_bound)


def test_players_without_a_master_problem():
    with pytest.raises(ap.ProblemError, match='found "ogd"; leave "player" out'):
        ap.maximize("mars-rover", "reward", player="ogd")


def test_an_entropy_is_certified_and_kept(tmp_path):
    best = ap.maximize("mars-rover", ap.entropy("visits", share=True), run=tmp_path / "run")
    assert best.value <= best.bound <= best.value + 2e-6 * abs(best.value)
    shares = best.measurements["visits"] / best.measurements["steps"]
    shares = shares[shares > 0]
    assert best.value == pytest.approx(float(-(shares * np.log(shares)).sum()), abs=1e-9)
    assert "no feasible policy passes" in best.verify()
    assert ap.load(tmp_path / "run").value == best.value
    programme = ap.maximize("mars-rover", ap.entropy(ap.measure("visits").share()), method=ap.Occupancy())
    assert programme.value == pytest.approx(best.value, abs=1e-6)


def test_sums_of_functions_and_measures():
    world = ap.Problem("mars-rover", constraints=[ap.measure("failure") <= 0.2], discount=0.99)
    utility = ap.measure("reward") - 0.5 * ap.measure("failure") + 0.01 * ap.smooth_minimum("visits", sharpness=10)
    best = ap.maximize(world, utility)
    assert best.value <= best.bound <= best.value + 2e-6 * abs(best.value)
    visits = best.measurements["visits"]
    expected = best.measurements["reward"] - 0.5 * best.measurements["failure"]
    assert best.value == pytest.approx(expected - 0.001 * np.log(np.exp(-10 * visits).sum()), abs=1e-9)
    near = ap.minimize(world, ap.squared_distance("visits", "uniform", share=True))
    assert 0 < near.value < 0.1


def test_exploring_without_constraints():
    world = ap.Problem("mars-rover", discount=0.99)
    found = ap.maximize(world, ap.entropy("visits", share=True), method=ap.Maxent(), rounds=50)
    assert 3.5 < found.value < found.bound and found.oracle_calls == 50
    with pytest.raises(ap.ProblemError, match="maxent takes no constraints"):
        ap.maximize("mars-rover", ap.entropy("visits"), method=ap.Maxent())
