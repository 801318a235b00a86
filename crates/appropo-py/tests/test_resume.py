"""Runs that were killed, and went on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import appropo as ap
import gymnasium
import numpy as np
import pytest

SEALED = ("problem.toml", "rounds.jsonl", "policies.safetensors", "manifest.json", "certificate.json", "result.json")


def cart_pole() -> ap.Problem:
    limits = [ap.measure("drift") <= 5, ap.measure("steps") == 60]
    measure = {"drift": lambda t: abs(t.observation[0])}
    return ap.Problem("CartPole-v1", limits, measure, discount=1.0, horizon=120)


def pendulum() -> ap.Problem:
    measure = {"torque": lambda t: float(np.square(t.action).sum())}
    return ap.Problem("Pendulum-v1", ap.measure("torque").between(4, 6), measure, discount=0.9, horizon=30)


def lake() -> ap.Problem:
    near = ap.Custom(lambda x: np.clip(x, [0.3, 20], [0.3, 25]), dim=2, name="a range")
    return ap.Problem("FrozenLake-v1", ap.measure("reward", "steps").within(near), discount=0.99)


class Unseeded(gymnasium.Env):
    """A world that no seed determines: its episodes take turns at being short."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)
    episodes = 0

    def reset(self, *, seed=None, options=None):
        Unseeded.episodes += 1
        self.left = 2 if Unseeded.episodes % 2 else 20
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.left -= 1
        assert self.left >= 0, "a step after the end"
        return np.zeros(1, np.float32), float(action), self.left == 0, False, {}


def unseeded() -> ap.Problem:
    return ap.Problem(Unseeded, ap.measure("reward") == 4, discount=1.0)


#: Problems, settings with which they take several rounds, and the round in which they are killed.
RUNS = {
    "cart-pole": (cart_pole, {"oracle": "ppo", "samples": 8_000}, 2),
    "pendulum": (pendulum, {"oracle": "a2c", "samples": 8_000}, 1),
    "rover": (lambda: "mars-rover-diverse", {"player": "blackwell"}, 9),
    "lake": (lake, {"oracle": "exact", "player": "blackwell", "rounds": 40, "tolerance": 1e-9}, 20),
    "unseeded": (unseeded, {"oracle": "ppo", "player": "blackwell", "samples": 8_000}, 4),
}


def solve(name: str, folder: str, kill: bool) -> None:
    """Solves, and is killed when it comes to a round."""
    problem, settings, last = RUNS[name]

    def callback(line: dict) -> None:
        if kill and line["round"] == last:
            os.kill(os.getpid(), signal.SIGKILL)

    ap.solve(problem(), run=folder, seed=5, callback=callback, checkpoint_every=0, **settings)


def killed(name: str, folder: Path) -> None:
    """A run that was killed."""
    script = f"import test_resume; test_resume.solve({name!r}, {str(folder)!r}, kill=True)"
    ended = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize("name", ["cart-pole", "pendulum", "lake"])
def test_a_run_that_was_killed_comes_to_the_same_end(name: str, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    solve(name, str(whole), kill=False)
    killed(name, cut)
    with pytest.raises(ap.RunError, match="no run that has ended"):
        ap.load(cut)
    with pytest.raises(ap.ProblemError, match="is Python's and not here; pass the problem: ap.resume"):
        ap.resume(cut)
    rounds = []
    problem, _, last = RUNS[name]
    result = ap.resume(cut, problem(), callback=lambda line: rounds.append(line["round"]))
    # Checkpoints take little of the time, so there may be none of the last rounds.
    assert 1 < rounds[0] <= last + 1
    assert result.oracle_calls == rounds[-1]
    for file in SEALED:
        assert (cut / file).read_bytes() == (whole / file).read_bytes(), file
    assert not (cut / "checkpoint").exists()


def test_a_built_in_world_needs_no_problem(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    killed("rover", folder)
    assert ap.resume(folder).verdict == "feasible"
    # What has ended is left as it is.
    before = (folder / "result.json").read_bytes()
    assert ap.resume(folder).verdict == "feasible"
    assert (folder / "result.json").read_bytes() == before


def test_a_world_that_does_other_things_again_is_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    killed("unseeded", folder)
    Unseeded.episodes = 0
    assert ap.resume(folder, unseeded()).oracle_calls > 4


def test_places_without_a_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ap.RunError, match="nowhere"):
        ap.resume(tmp_path / "nowhere")
    with pytest.raises(ap.ProblemError, match="problem="):
        ap.resume(tmp_path, oracle=object())
