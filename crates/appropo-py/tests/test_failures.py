"""What goes wrong in Python code: its exceptions come out as they are, and what was found before is kept."""

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import appropo as ap
import numpy as np
import pytest
from test_environments import Walk, walk


class Mine(Exception):
    """An exception of the user's."""


def failing(after, what):
    """A walk that fails in some step, counted over all episodes."""
    taken = [0]

    def fails(env):
        taken[0] += 1
        if taken[0] > after:
            what()

    return lambda: Walk(fails)


def raise_mine():
    raise Mine("in the environment")


def test_an_exception_in_the_environment_comes_out_with_the_run_saved(tmp_path):
    with pytest.raises(Mine, match="in the environment"):
        ap.solve(walk(failing(1600, raise_mine)), samples=20_000, run=tmp_path / "run", rounds=50)
    kept = ap.load(tmp_path / "run", walk())
    assert kept.verdict == "undecided"
    assert kept.failure == "the environment failed"
    assert len(kept.policy) >= 1


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda env: setattr(env, "place", float("nan")), "the world gave NaN"),
        (lambda env: setattr(env, "place", 1e300), "1e300|inf"),
    ],
)
def test_numbers_that_are_none(broken, said):
    def fails(env):
        if env.steps == 7:
            broken(env)

    with pytest.raises(ap.WorldError, match=said):
        ap.solve(walk(lambda: Walk(fails), cost=lambda t: float(t.observation[0])), samples=2000)


class WrongShape(Walk):
    def step(self, action):
        seen, *rest = super().step(action)
        return np.zeros(3, np.float32), *rest


class OldStep(Walk):
    def step(self, action):
        seen, reward, over, _, about = super().step(action)
        return seen, reward, over, about


class OldReset(Walk):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (WrongShape, "found 3 numbers as observation; expected 1"),
        (OldStep, "step\\(\\) returned 4 values"),
        (OldReset, "reset\\(\\) returned ndarray"),
    ],
)
def test_environments_of_the_wrong_shape(env, said):
    with pytest.raises(ap.WorldError, match=said):
        ap.solve(walk(env), samples=500)


def test_a_measure_that_is_not_there():
    with pytest.raises(ap.WorldError, match='info has no "costs", only cost, even'):
        ap.Problem(Walk, [ap.measure("costs") <= 1], {"costs": "costs"}, discount=1.0)


def test_a_callback_that_raises(tmp_path):
    def callback(line):
        if line["round"] == 2:
            raise Mine("in the callback")

    with pytest.raises(Mine, match="in the callback"):
        ap.solve("mars-rover-diverse", callback=callback, run=tmp_path / "run")
    assert ap.load(tmp_path / "run").oracle_calls == 2


def test_a_callback_that_has_seen_enough():
    rounds = []
    result = ap.solve("mars-rover-diverse", callback=lambda line: rounds.append(line["round"]) or len(rounds) < 3)
    assert rounds == [1, 2, 3] and result.oracle_calls == 3


def test_a_set_without_a_nearest_point():
    nowhere = ap.Custom(lambda x: np.full_like(x, np.nan), dim=1)
    with pytest.raises(ap.SetError, match="NaN"):
        ap.solve(ap.Problem("mars-rover", [ap.measure("failure").within(nowhere)], discount=0.99))

    def raises(x):
        raise Mine("in the set")

    with pytest.raises(Mine, match="in the set"):
        target = ap.Custom(raises, dim=1)
        ap.solve(ap.Problem("mars-rover", [ap.measure("failure").within(target)], discount=0.99))


def test_a_set_of_ones_own_is_as_good_as_ours():
    mine = ap.Custom(lambda x: np.minimum(x, 0.2), dim=1, name="my bound")
    result = ap.solve(
        ap.Problem("mars-rover", [ap.measure("failure").within(mine), ap.measure("reward") >= -0.17], discount=0.99)
    )
    assert result.verdict == "feasible"
    assert result.measurements["failure"] <= 0.2 + 1e-6


def test_what_was_found_can_be_read_without_its_problem(tmp_path):
    mine = ap.Custom(lambda x: np.minimum(x, 0.2), dim=1)
    tabular = ap.Problem("FrozenLake-v1", [ap.measure("reward").within(mine)], discount=0.9)
    result = ap.solve(tabular, run=tmp_path / "run")
    kept = ap.load(tmp_path / "run")
    assert (kept.verdict, kept.measurements) == (result.verdict, result.measurements)
    assert len(kept.history["lam/reward"]) == result.oracle_calls
    with pytest.raises(ap.RunError, match="ap.load\\(folder, problem\\)"):
        kept.verify()
    assert "verified" in ap.load(tmp_path / "run", tabular).verify()


@pytest.mark.parametrize("problem", [walk(), "cart-pole"], ids=["Python", "built-in"])
def test_control_c_returns_what_there_is(problem):
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    limits = {"samples": 10**9, "tolerance": 1e-12}
    target = walk(constraints=[ap.measure("steps") >= 11]) if problem != "cart-pole" else problem
    if problem == "cart-pole":
        target = ap.Problem(ap.BuiltIn("cart-pole"), [ap.measure("steps") >= 600], discount=1.0, horizon=500)
    result = ap.solve(target, **limits)
    assert result.stopped
    assert result.verdict == "undecided"


def test_no_file_is_made_without_a_run(tmp_path):
    """Not even for a while: a folder is as it was since its last change."""
    script = f"""if True:
        import os, sys, tempfile, time
        import numpy as np
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import appropo as ap, pytest
        from test_failures import Mine, failing, raise_mine, walk

        def touched():
            # Times of the system's clock, which is coarse.
            return [os.stat(place).st_mtime_ns for place in (tempfile.gettempdir(), os.getcwd())]

        assert tempfile.gettempdir() != os.getcwd()
        before = touched()
        time.sleep(0.05)
        results = [ap.solve("mars-rover"), ap.solve(walk(), samples=500, rounds=2)]
        with pytest.raises(Mine):
            ap.solve(walk(failing(100, raise_mine)), samples=500)
        for result in results:
            assert result.folder is None
            result.history, result.certificate, result.measurements, result.policy, str(result)
            result.evaluate(10), result.verify()
        ap.maximize("mars-rover", "reward")
        assert touched() == before and not os.listdir() and not os.listdir(tempfile.gettempdir())
    """
    (tmp_path / "temporary").mkdir()
    (tmp_path / "here").mkdir()
    around = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "here", env=around, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_nothing_is_left_behind():
    """A thousand problems, sets and results that their own functions refer to are collected."""
    alive = []
    for i in range(1000):
        holder = {}
        measure = {"cost": lambda t, holder=holder: 0.0 * len(holder)}
        target = ap.Custom(lambda x, holder=holder: x, dim=1)
        problem = ap.Problem(Walk, [ap.measure("cost").within(target)], measure, discount=1.0, horizon=20)
        result = ap.solve(problem, samples=30, rounds=1) if i % 100 == 0 else None
        holder["all"] = (problem, target, result)
        alive += [weakref.ref(thing) for thing in (problem, target, result) if thing is not None]
        del problem, target, result, holder, measure
    gc.collect()
    assert sum(ref() is not None for ref in alive) == 0


def test_oracles_are_not_left_behind():
    """Nor are oracles whose problem refers to the result."""

    class Right:
        def respond(self, lam):
            return (lambda seen: 6), [10.0, 10.0, 0.0, 0.0]

    alive = []
    for _ in range(5):
        holder, oracle = {}, Right()
        problem = walk(extra=lambda t, holder=holder: 0.0 * len(holder), constraints=[ap.measure("reward") >= 1])
        holder["all"] = (problem, oracle, ap.solve(problem, oracle=oracle, rounds=1))
        alive += [weakref.ref(thing) for thing in holder["all"]]
        del problem, oracle, holder
    gc.collect()
    assert sum(ref() is not None for ref in alive) == 0


def test_a_world_lives_as_long_as_its_problem():
    """What a result needs of its problem it keeps."""
    result = ap.solve(walk(), samples=500, rounds=1)
    gc.collect()
    assert result.evaluate(5)["steps"]["mean"] == 10
    core = walk()._core
    gc.collect()
    with pytest.raises(ap.WorldError, match="the problem of this world is gone"):
        ap._appropo.solve(core, core.plan({"samples": 500}))


def test_memory_stays_as_it_is():
    import resource

    def once():
        with pytest.raises(Mine):
            ap.solve(walk(failing(40, raise_mine)), samples=500, rounds=2)

    for _ in range(100):
        once()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1000):
        once()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB
