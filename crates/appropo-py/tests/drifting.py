"""A world for workers. It imports little, since each of them does."""

import os
import signal
import time
from pathlib import Path

import gymnasium
import numpy as np


class Mine(Exception):
    """An exception of the user's."""


class Drift(gymnasium.Env):
    """A random walk that the action pushes. What is written in its folder befalls whoever plays there next."""

    observation_space = gymnasium.spaces.Box(-10, 10, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, folder: str | None = None, driver: int = 0) -> None:
        self.folder = None if folder is None or os.getpid() == driver else folder
        if self.folder is not None:
            Path(folder, f"pid-{os.getpid()}").touch()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = 0.0, 0
        return self.seen(), {}

    def seen(self):
        return np.array([self.place, self.steps / 30], np.float32)

    def step(self, action):
        self.steps += 1
        self.place = float(np.clip(self.place + action - 1 + self.np_random.normal(), -10, 10))
        if self.folder is not None:
            self.befall()
        return self.seen(), self.place, False, self.steps == 30, {"far": float(abs(self.place) > 2)}

    def befall(self):
        if Path(self.folder, "always").exists() and self.steps == 20:
            raise Mine("in every episode")
        try:
            fate = next(Path(self.folder).glob("fate-*"))
            fate.unlink()
        except (StopIteration, FileNotFoundError):
            return
        if fate.name.endswith("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif fate.name.endswith("hangs"):
            time.sleep(600)
        raise Mine("once")


class Maker:
    """Makes worlds with a folder, in other processes than this one."""

    __name__ = "Drift"

    def __init__(self, folder) -> None:
        self.folder, self.driver = str(folder), os.getpid()

    def __call__(self) -> Drift:
        return Drift(self.folder, self.driver)
