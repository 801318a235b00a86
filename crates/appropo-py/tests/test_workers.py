"""Worlds that workers play: the same files on any number of them, whatever becomes of some."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import appropo as ap
import gymnasium
import pytest
from appropo.workers import learns_here, streams
from drifting import Drift, Maker, Mine

SEALED = ("problem.toml", "rounds.jsonl", "policies.safetensors", "manifest.json", "certificate.json", "result.json")


def drift(env=Drift, **settings) -> ap.Problem:
    limits = [ap.measure("far") <= 6, ap.measure("reward") >= 5]
    return ap.Problem(env, limits, {"far": "far"}, discount=0.98, **settings)


def solve(folder: Path, env=Drift, **settings):
    settings = {"num_envs": 4, "samples": 1500, **settings}
    result = ap.solve(drift(env), run=folder, seed=3, oracle=ap.PPO(n_steps=16, net_arch=[16]), **settings)
    return result, files(folder)


def files(folder: Path) -> dict:
    return {name: next(folder.rglob(name)).read_bytes() for name in SEALED}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run with no workers."""
    return solve(tmp_path_factory.mktemp("runs") / "here")[1]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_workers_writes_the_same_files(tmp_path, undisturbed, count):
    with warnings.catch_warnings():
        # Five workers for four streams are told of.
        warnings.simplefilter("ignore", UserWarning)
        assert solve(tmp_path / "run", workers=count)[1] == undisturbed


def test_there_are_eight_streams_on_any_number_of_workers():
    assert [streams(ap.Processes(count), None) for count in (1, 8)] == [8, 8]
    assert "num_envs = 3" in drift().resolved(num_envs=3)
    with pytest.warns(UserWarning, match="1 of 3 workers only judge; num_envs=3 uses all"):
        assert streams(ap.Processes(3), 2) == 2


def test_who_learns_in_the_driver_is_told():
    oracles = [{"oracle": name} for name in ("a2c", "sac", "universal")]
    given = [{}, *oracles, {"method": "cpo"}, {"method": "state-augmented"}]
    found = [learns_here(drift().resolved(**settings)) for settings in given]
    assert found == [None, None, None, "universal", None, "state-augmented"]
    with pytest.warns(UserWarning, match="universal learns in this process, step by step, and workers only judge"):
        ap.solve(drift(), oracle="universal", samples=50, evaluation_samples=100, workers=1)


def test_workers_that_are_lost_leave_no_trace(tmp_path, undisturbed):
    world = tmp_path / "world"
    world.mkdir()
    for number, fate in enumerate(["killed", "raises", "hangs", "killed"]):
        (world / f"fate-{number}-{fate}").touch()
    assert solve(tmp_path / "run", Maker(world), workers=ap.Processes(2, timeout=4.0))[1] == undisturbed
    assert not list(world.glob("fate-*")), "everything befell someone"


def test_three_failures_in_an_episode_end_the_run_with_what_was_found(tmp_path):
    world = tmp_path / "world"
    world.mkdir()

    def callback(_):
        (world / "always").touch()

    settings = {"oracle": ap.PPO(n_steps=16, net_arch=[16]), "num_envs": 2, "samples": 20_000}
    problem = ap.Problem(Maker(world), ap.measure("reward") >= 500, discount=0.98)
    with pytest.raises(Mine, match="in every episode") as raised:
        ap.solve(problem, workers=1, callback=callback, run=tmp_path / "run", player="blackwell", **settings)
    assert any("befall" in note for note in raised.value.__notes__), "it says where"
    kept = ap.load(tmp_path / "run", problem)
    assert (kept.verdict, kept.failure) == ("undecided", "a worker failed")
    assert len(kept.policy) >= 1
    made = len(list(world.glob("pid-*")))
    assert made >= 3, "each failure cost a worker"


def test_a_killed_driver_goes_on_with_another_number_of_workers(tmp_path):
    script = "import sys, test_workers as t; t.long(sys.argv[1], workers=1, callback=t.killed)"
    here = Path(__file__).parent
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path / "killed")], cwd=here)
    assert ended.returncode == -signal.SIGKILL
    ap.resume(tmp_path / "killed", long_problem(), workers=2)
    long(tmp_path / "whole", workers=None)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def long_problem() -> ap.Problem:
    return ap.Problem(Drift, ap.measure("reward") >= 500, discount=0.98)


def killed(line) -> None:
    if line["round"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)


def long(folder, workers, callback=None) -> None:
    ap.solve(
        long_problem(),
        oracle=ap.PPO(n_steps=16, net_arch=[16]),
        player="blackwell",
        num_envs=4,
        samples=4000,
        seed=1,
        run=folder,
        callback=callback,
        checkpoint_every=0,
        workers=workers,
    )


class Unsendable(Drift):
    """A world that holds what can't be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_what_workers_cannot_be_says_what_to_do():
    for workers in (0, -1, "8", 1.5, True, [2]):
        with pytest.raises(ap.ProblemError, match="workers is .* expected|num_workers"):
            ap.solve(drift(), workers=workers)
    for wrong in ({"timeout": 0}, {"timeout": "soon"}):
        with pytest.raises(ap.ProblemError, match="timeout is .* expected"):
            ap.Processes(2, **wrong)
    with pytest.raises(ap.ProblemError, match="num_cpus"):
        ap.Ray(2, num_cpus=-1)
    with pytest.raises(ap.ProblemError, match="can't be sent to workers .*pass the id"):
        ap.solve(drift(Unsendable()), workers=2)
    with pytest.raises(ap.ProblemError, match="threads play .*leave workers out"):
        ap.solve("mars-rover", workers=2)
    together = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    with pytest.raises(ap.ProblemError, match="a vector environment"):
        ap.solve(ap.Problem(together, ap.measure("reward") >= 5, discount=0.9), workers=2)
    together.close()


@pytest.fixture
def acted_ray(tmp_path, monkeypatch):
    """A stand-in for Ray, and the folder that says what befalls it."""
    fates = tmp_path / "ray"
    fates.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "acted_ray"))
    monkeypatch.setenv("ACTED_RAY", str(fates))
    return fates


def test_actors_write_the_same_files_though_some_are_lost(tmp_path, undisturbed, acted_ray):
    assert solve(tmp_path / "run", workers=ap.Ray(2))[1] == undisturbed
    (acted_ray / "lost").touch()
    assert solve(tmp_path / "lost", workers=ap.Ray(2))[1] == undisturbed
    assert not list(acted_ray.iterdir()), "it befell someone"
    world = tmp_path / "world"
    world.mkdir()
    (world / "always").touch()
    with pytest.raises(Mine, match="in every episode") as raised:
        solve(tmp_path / "raised", Maker(world), workers=ap.Ray(2))
    assert any("befall" in note for note in raised.value.__notes__), "it says where"


@pytest.mark.parametrize("fate", ["not installed", "nowhere", "deadly"])
def test_a_ray_that_is_not_there(tmp_path, acted_ray, fate):
    (acted_ray / fate).touch()
    does = {
        "not installed": r"install appropo\[ray\], or use processes",
        "nowhere": "nobody is there.*ray start --head",
    }
    expected = does.get(fate, "no Ray cluster at 'here' .Ray ended its driver with status 1.; start one")
    with pytest.raises(ap.WorkerError, match=expected):
        ap.solve(drift(), workers=ap.Ray(num_workers=2, address="here"))
    with pytest.raises(ap.WorkerError, match=expected):
        ap.study("mars-rover", seeds=1, folder=tmp_path / "study", where=ap.Ray(2, address="here"))


def test_a_cluster_that_goes_away_leaves_a_run_to_go_on_with(tmp_path, acted_ray):
    def callback(line):
        if line["round"] == 2:
            (acted_ray / "gone").touch()

    with pytest.raises(ap.WorkerError, match=r"the Ray cluster is gone .*go on with ap.resume\(folder"):
        long(tmp_path / "run", workers=ap.Ray(2), callback=callback)
    kept = ap.load(tmp_path / "run", long_problem())
    assert (kept.verdict, kept.failure, len(kept.policy) >= 1) == ("undecided", "a worker failed", True)
    ap.resume(tmp_path / "run", long_problem(), workers=3)
    long(tmp_path / "whole", workers=None)
    assert files(tmp_path / "run") == files(tmp_path / "whole")


def test_workers_that_cannot_start(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ap.WorkerError, match="no worker can be started: it ended with status 1"):
        ap.solve(drift(), workers=1)
