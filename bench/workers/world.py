"""A world whose steps take a stated time, and problems in it."""

import os
import time
from pathlib import Path

import gymnasium
import numpy as np


class Slow(gymnasium.Env):
    """A random walk of two numbers. Every step sleeps for so many seconds, or goes round so many loops."""

    observation_space = gymnasium.spaces.Box(-10, 10, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, sleeps: float = 0.0, works: int = 0, folder: str | None = None) -> None:
        self.sleeps, self.works = sleeps, works
        if folder is not None:
            Path(folder, f"pid-{os.getpid()}").touch()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seen = np.zeros(4, np.float32)
        self.steps = 0
        return self.seen, {}

    def step(self, action):
        self.steps += 1
        self.seen = np.clip(self.seen + self.np_random.normal(size=4).astype(np.float32) + (action - 1), -10, 10)
        if self.sleeps:
            time.sleep(self.sleeps)
        for _ in range(self.works):
            pass
        return self.seen, float(self.seen[0]), False, self.steps == 100, {"far": float(abs(self.seen[1]) > 2)}


class Make:
    """Makes such worlds."""

    __name__ = "Slow"

    def __init__(self, sleeps: float = 0.0, works: int = 0, folder: str | None = None) -> None:
        self.sleeps, self.works, self.folder, self.driver = sleeps, works, folder, os.getpid()

    def __call__(self) -> Slow:
        return Slow(self.sleeps, self.works, None if os.getpid() == self.driver else self.folder)


def loops(seconds):
    """The loops that take a processor so long: the work of a step must not depend on who else has the processor."""
    count, found = 1_000_000, []
    for _ in range(9):
        start = time.thread_time()
        for _ in range(count):
            pass
        found.append(time.thread_time() - start)
    return round(count * seconds / sorted(found)[len(found) // 2])


def as_eager_as_processes():
    """Has Ray's workers take as much of a busy machine as others do: it is kind to these, and slow."""
    os.environ.setdefault("RAY_worker_niceness", "0")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")


def problem(make):
    """A problem that takes all of its samples: its bounds can't be met together."""
    import appropo as ap

    limits = [ap.measure("reward") >= 500, ap.measure("far") <= 10]
    return ap.Problem(make, limits, {"far": "far"}, discount=0.98)


SEALED = ("problem.toml", "rounds.jsonl", "policies.safetensors", "manifest.json", "certificate.json", "result.json")


def solved(folder, make, samples=2000, **settings):
    """A solve, and the files that it must leave behind."""
    import appropo as ap

    oracle = ap.PPO(n_steps=32, net_arch=[32])
    settings = {"num_envs": 8, "seed": 7, "progress": False, "checkpoint_every": 0.0, **settings}
    ap.solve(problem(make), oracle=oracle, samples=samples, run=folder, **settings)
    return files(folder)


def resumed(folder, make, workers):
    """The same of a run that is gone on with."""
    import appropo as ap

    ap.resume(folder, problem(make), workers=workers, progress=False)
    return files(folder)


def files(folder):
    """The files that do not tell the time."""
    return {name: next(Path(folder).rglob(name)).read_bytes() for name in SEALED}
