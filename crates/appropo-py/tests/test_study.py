"""Studies: runs side by side, wherever they are drawn."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import appropo as ap
import pytest
from appropo import _appropo, drawing

gymnasium = pytest.importorskip("gymnasium")

#: Files that tell the time.
TIMED = {"times.json", "report.html"}


class Corridor(gymnasium.Env):
    """The right end of a corridor, to which some steps do not lead."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self.place, {}

    def step(self, action):
        self.place = min(3, self.place + int(action)) if self.np_random.random() < 0.9 else 0
        return self.place, float(self.place == 3), self.place == 3, False, {}


class Broken(Corridor):
    """One that falls in once it has been used for a while."""

    steps = 0

    def step(self, action):
        Broken.steps += 1
        if Broken.steps > 100:
            raise ArithmeticError("the corridor fell in")
        return super().step(action)


def corridor():
    return ap.Problem(Corridor, [ap.measure("steps") <= 20], discount=1, horizon=30, name="corridor")


def broken():
    return ap.Problem(Broken, [ap.measure("steps") <= 20], discount=1, horizon=30, name="broken")


def files(folder):
    """The files of every run that is in its place."""
    found = {}
    for result in Path(folder).glob("*/*/*/result.json"):
        for path in result.parent.iterdir():
            if path.is_file() and path.name not in TIMED:
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


SMALL = {"methods": {"ppo": "appropo:ppo", "prices": ap.Lagrangian(ki=5)}, "seeds": [5], "samples": 400}


def test_the_same_files_wherever_runs_are_drawn(tmp_path):
    study = ap.study([corridor, "mars-rover"], **SMALL, folder=tmp_path / "threads", workers=2)
    assert [(run.problem, run.method, run.seed, run.state) for run in study.runs] == [
        ("corridor", "ppo", 5, "done"),
        ("corridor", "prices", 5, "done"),
        ("mars-rover", "ppo", 5, "done"),
        ("mars-rover", "prices", 5, "done"),
    ]
    expected = files(tmp_path / "threads")
    assert sum(name.endswith("result.json") for name in expected) == 4
    ap.study([corridor, "mars-rover"], **SMALL, folder=tmp_path / "processes", where="processes", workers=2)
    assert files(tmp_path / "processes") == expected
    with ThreadPoolExecutor(2) as executor:
        ap.study([corridor, "mars-rover"], **SMALL, folder=tmp_path / "executor", where=executor)
    assert files(tmp_path / "executor") == expected
    # And one by one.
    alone = ap.solve(corridor(), oracle="ppo", seed=5, samples=400, run=tmp_path / "alone")
    result = study.results[0]
    assert result.measurements == alone.measurements
    assert (tmp_path / "alone/result.json").read_bytes() == expected["corridor/ppo/5/result.json"]
    assert result.verify()
    assert "corridor" in str(study) and len(study.rows) == 4 and study.rows[0]["runs"] == 1
    assert [page.name for page in study.pages] == ["corridor.html", "mars-rover.html"]
    # What has ended is not run again.
    before = (tmp_path / "threads/corridor/ppo/5/result.json").stat().st_mtime_ns
    again = ap.study([corridor, "mars-rover"], **SMALL, folder=tmp_path / "threads")
    assert (tmp_path / "threads/corridor/ppo/5/result.json").stat().st_mtime_ns == before
    assert again.rows == study.rows


def test_the_program_draws_from_the_same_folder(tmp_path):
    study = ap.study("mars-rover", ["appropo", "rcpo"], seeds=1, samples=500, folder=tmp_path / "study")
    command = [sys.executable, "-m", "appropo", "compare", "mars-rover", "--methods", "appropo,rcpo", "--seeds", "2"]
    command += ["--samples", "500", "--json", "--out", str(tmp_path / "study")]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert [row["runs"] for row in shown["rows"]] == [2, 2]
    more = ap.study("mars-rover", ["appropo", "rcpo"], seeds=2, samples=500, folder=tmp_path / "study")
    assert more.rows == shown["rows"]
    assert more.results[0].measurements["failure"] == study.results[0].measurements["failure"]
    with pytest.raises(ap.RunError, match="with other settings; choose another folder"):
        ap.study("mars-rover", ["rcpo"], seeds=2, samples=600, folder=tmp_path / "study")


def test_what_fails_is_told_and_tried_again_on_request(tmp_path):
    study = ap.study([broken, corridor], "appropo:ppo", seeds=1, samples=300, folder=tmp_path)
    failed, done = study.runs
    assert (failed.state, done.state) == ("failed", "done")
    assert failed.error == "ArithmeticError: the corridor fell in"
    assert "broken/appropo-ppo/0: ArithmeticError: the corridor fell in" in str(study)
    assert "1 failed" in repr(study)
    claims = len(list(tmp_path.glob(".study/broken/*/*/claim-*")))
    Broken.steps = 0
    assert ap.study([broken, corridor], "appropo:ppo", seeds=1, samples=300, folder=tmp_path).runs == study.runs
    assert len(list(tmp_path.glob(".study/broken/*/*/claim-*"))) == claims == 1
    Broken.steps = -100_000
    again = ap.study([broken, corridor], "appropo:ppo", seeds=1, samples=300, folder=tmp_path, retry=True)
    assert [run.state for run in again.runs] == ["done", "done"]


def test_processes_that_are_killed_are_replaced(tmp_path, monkeypatch):
    order = {"methods": "appropo:ppo", "seeds": 3, "samples": 600, "checkpoint_every": 0.5}
    ap.study(corridor, **order, folder=tmp_path / "whole")
    started, kills = drawing._started, []

    def killed_soon(packed):
        process = started(packed)
        if len(kills) < 2:
            kills.append(process.pid)
            threading.Thread(target=kill_within, args=(process, tmp_path / "killed")).start()
        return process

    def kill_within(process, folder):
        # Once it has begun a run.
        while process.poll() is None and not any(folder.glob(".study/*/*/*/run-*/run.json")):
            time.sleep(0.01)
        process.kill()

    monkeypatch.setattr(drawing, "_started", killed_soon)
    study = ap.study(corridor, **order, folder=tmp_path / "killed", where="processes", workers=2)
    assert len(kills) == 2
    assert [run.state for run in study.runs] == ["done"] * 3
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_runs_are_drawn_on_ray(tmp_path, monkeypatch):
    fates = tmp_path / "ray"
    fates.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "acted_ray"))
    monkeypatch.setenv("ACTED_RAY", str(fates))
    ap.study([corridor, "mars-rover"], **SMALL, folder=tmp_path / "threads")
    (fates / "gone").touch()
    with pytest.raises(ap.WorkerError, match="the Ray cluster is gone .*call ap.study again"):
        ap.study([corridor, "mars-rover"], **SMALL, folder=tmp_path / "there", where=ap.Ray(2))
    (fates / "gone").unlink()
    ap.study([corridor, "mars-rover"], **SMALL, folder=tmp_path / "there", where=ap.Ray(2))
    assert files(tmp_path / "there") == files(tmp_path / "threads")


def test_ctrl_c_keeps_what_there_is(tmp_path):
    def interrupt():
        while not any(tmp_path.glob(".study/*/*/*/run-*")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    study = ap.study(corridor, "appropo:ppo", seeds=40, samples=3000, folder=tmp_path, workers=1)
    thread.join()
    assert study.stopped and any(run.state == "waiting" for run in study.runs)
    assert all(run.state in ("waiting", "done") for run in study.runs), "every claim was given back"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"problems": []}, "problems is empty"),
        ({"problems": 3}, "3 is no problem; expected a problem, a file or a function"),
        ({"problems": lambda: 3}, "made 3; expected a function that makes an ap.Problem"),
        ({"methods": []}, "methods is empty"),
        ({"methods": 3}, "3 is no method; expected a name"),
        ({"methods": "ppo"}, '"ppo"'),
        ({"methods": [ap.PPO(), ap.PPO(n_steps=8)]}, 'two methods are called "appropo:ppo"; give them names'),
        ({"methods": {"a:b": "appropo", "a-b": "appropo"}}, "would be two runs"),
        ({"methods": {"a": {"samples": 3}}, "samples": 4}, "samples is given for all methods and for"),
        ({"seeds": 0}, "seeds is 0; expected a whole number, 1 or more"),
        ({"seeds": [1, 1]}, "would be two runs"),
        ({"seeds": []}, "seeds is empty"),
        ({"where": "moon"}, 'where is \'moon\'; expected "threads", "processes"'),
        ({"workers": 0}, "workers is 0; expected"),
        ({"expire_after": 0.1}, "expire_after is 0.1; expected 1 second or more"),
        ({"maximize": "reward", "minimize": "failure"}, "leave one of them out"),
        ({"smaples": 3}, "smaples"),
    ],
)
def test_bad_input_writes_nothing(tmp_path, given, message):
    with pytest.raises(ap.ProblemError) as raised:
        ap.study(**{"problems": "mars-rover", "folder": tmp_path / "study", **given})
    assert message in str(raised.value)
    assert not (tmp_path / "study").exists()


def test_what_stays_here_is_said(tmp_path):
    with pytest.raises(ap.ProblemError, match="pass a function that makes the problem"):
        ap.study(corridor(), "appropo:ppo", seeds=1, samples=300, folder=tmp_path / "here", where="processes")
    assert not (tmp_path / "here").exists()
    rover = ap.Problem("mars-rover", [ap.measure("failure") <= 0.2], discount=0.99)
    study = ap.study(rover, seeds=1, folder=tmp_path / "rover", where="processes", workers=1)
    assert [run.state for run in study.runs] == ["done"]
    # The program says what it can't draw.
    problem = corridor()
    plan, _ = problem._plan(problem._core, {"oracle": "ppo"})
    _appropo.Study(tmp_path / "planned", [(problem._core, plan, "ppo")], [])
    command = [sys.executable, "-m", "appropo", "study", str(tmp_path / "planned")]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode == 2 and "its world is Python's" in shown.stderr
    assert not list(tmp_path.glob("planned/.study/*/*/*/claim-*"))


def test_objectives_hold_for_all(tmp_path):
    study = ap.study("mars-rover", ["appropo", "occupancy"], seeds=1, folder=tmp_path, maximize="reward")
    assert [round(row["value"], 5) for row in study.rows] == [-0.11101, -0.11101]
    assert study.left_out == []
    diverse = ap.study("mars-rover-diverse", ["appropo", "rcpo"], seeds=1, folder=tmp_path / "diverse", samples=300)
    assert "half-spaces only" in diverse.left_out[0]["why"] and "half-spaces only" in str(diverse)
    assert [row["method"] for row in diverse.rows] == ["appropo"]
