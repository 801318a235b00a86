"""Normalisation that can be kept: what it has learnt of an environment can be frozen, saved and loaded.

A policy is learnt on observations as they are shown to it, so whoever acts with it later must show them the same way.
Freeze the numbers before solving, or the policies of a mixture have each seen another scale.
Needs the extra ``appropo[gymnasium]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._appropo import ProblemError
from .arguments import number, numbers
from .extras import needed

with needed("gymnasium"):
    import gymnasium


class NormalizeObservation(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Shows observations less their mean and divided by their deviation, cut to ±10.

    >>> from appropo.gym import World
    >>> env = NormalizeObservation.fitted(World("cart-pole", horizon=50), episodes=20, seed=0)
    >>> sorted(env.numbers())
    ['deviation', 'mean']
    """

    def __init__(self, env: Any, mean: Any, deviation: Any) -> None:
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gymnasium.spaces.Box):
            raise ProblemError(f"the observation space is {space}; only a Box can be normalised")
        self._mean = _shaped("mean", mean, space.shape)
        self._deviation = np.maximum(_shaped("deviation", deviation, space.shape), 1e-8)
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, space.shape, np.float32)

    @classmethod
    def fitted(cls, env: Any, episodes: int = 100, seed: int = 0) -> NormalizeObservation:
        """With the mean and deviation of what episodes of random actions show."""
        seen = []
        env.action_space.seed(seed)
        for episode in range(episodes):
            observation, _ = env.reset(seed=seed if episode == 0 else None)
            over = False
            while not over:
                seen.append(np.asarray(observation, dtype=np.float64))
                observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
                over = terminated or truncated
        return cls(env, np.mean(seen, axis=0), np.std(seen, axis=0))

    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """What it needs to be made again: ``NormalizeObservation(env, **numbers)``; fit for ``numpy.savez``."""
        return {"mean": self._mean, "deviation": self._deviation}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.shown(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Acts."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.shown(observation), reward, terminated, truncated, info

    def shown(self, observation: Any) -> NDArray[np.float32]:
        """An observation as it is shown."""
        shown = np.clip((observation - self._mean) / self._deviation, -10, 10)
        return np.asarray(shown, dtype=np.float32)


def _shaped(what: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = numbers(what, value)
    if array.size != np.prod(shape):
        raise ProblemError(f"{what} has {array.size} entries; expected {int(np.prod(shape))}, as observations have")
    return array.reshape(shape)


class NormalizeReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Divides rewards by the deviation of the discounted return, so that returns are about 1 in size.

    Constraints then speak of the divided reward; measures that are functions or info keys stay as they are. appropo
    scales what its own learners see by itself: this is for oracles that don't.
    """

    def __init__(self, env: Any, deviation: float) -> None:
        super().__init__(env)
        if number("deviation", deviation) <= 0:
            raise ProblemError(f"deviation is {deviation}; expected a number above 0")
        self._deviation = float(deviation)

    @classmethod
    def fitted(cls, env: Any, discount: float = 0.99, episodes: int = 100, seed: int = 0) -> NormalizeReward:
        """With the deviation of the return of random actions."""
        returns, total = [], 0.0
        env.action_space.seed(seed)
        for episode in range(episodes):
            env.reset(seed=seed if episode == 0 else None)
            over, total = False, 0.0
            while not over:
                _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
                total = discount * total + float(reward)
                returns.append(total)
                over = terminated or truncated
        return cls(env, max(float(np.std(returns)), 1e-8))

    def numbers(self) -> dict[str, float]:
        """What it needs to be made again: ``NormalizeReward(env, **numbers)``."""
        return {"deviation": self._deviation}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Acts."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) / self._deviation, terminated, truncated, info
