"""PPO-Lagrangian on Stable-Baselines3: a multiplier for each bound, raised while episodes violate it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from problems import Bound
from stable_baselines3 import PPO

from appropo.oracles import SB3

#: The step size of the multipliers, by Adam, as in OmniSafe.
MULTIPLIER_RATE = 0.035
DECAY_MEAN, DECAY_SQUARE, SMALL = 0.9, 0.999, 1e-8
#: Episodes whose mean moves the multipliers.
EPISODES = 25


class PPOLagrangian(SB3):
    """Learns once, with all samples, whatever λ it is asked for; appropo then judges the policy.

    The reward is −Σ μₖ gₖ in units of each bound, divided by 1 + Σ μₖ. All else is Stable-Baselines3's default.
    """

    def __init__(self, bounds: list[Bound], measures: dict[str, int], samples: int, seed: int, policy: str) -> None:
        super().__init__(PPO, policy, seed=seed, device="cpu")
        #: How long it learnt.
        self.seconds = 0.0
        self._budget = samples
        places = dict(zip(measures, np.cumsum([0, *measures.values()]), strict=False))
        units = np.array([max(1.0, abs(bound.limit)) for bound in bounds])
        #: Row k has the weights of gₖ(z) = rowₖ·z − limitₖ.
        self._rows = np.zeros((len(bounds), sum(measures.values())))
        for row, bound in zip(self._rows, bounds, strict=True):
            row[places[bound.measure] + (bound.entry or 0)] = bound.sign
        self._rows /= units[:, None]
        self._limits = np.array([bound.sign * bound.limit for bound in bounds]) / units
        self._multipliers = np.ones(len(bounds))

    def respond(self, lam: NDArray[np.float64], offset: float) -> tuple[Any, NDArray[np.float64]]:
        assert self._problem is not None
        started = time.perf_counter()
        world, rollout = self._worlds[0], self._model.n_steps
        world.gamma = self._problem._discount
        mean = square = np.zeros(len(self._multipliers))
        update = 0
        while self._model.num_timesteps + rollout <= max(self._budget, rollout):
            weights = self._multipliers / (1 + self._multipliers.sum())
            world.weights = -(weights @ self._rows)
            self._model.learn(rollout, reset_num_timesteps=False)
            if not world.sums:
                continue
            violation = self._rows @ np.mean(world.sums[-EPISODES:], axis=0) - self._limits
            update += 1
            mean = DECAY_MEAN * mean + (1 - DECAY_MEAN) * violation
            square = DECAY_SQUARE * square + (1 - DECAY_SQUARE) * violation**2
            step = mean / (1 - DECAY_MEAN**update)
            step /= np.sqrt(square / (1 - DECAY_SQUARE**update)) + SMALL
            self._multipliers = np.maximum(0.0, self._multipliers + MULTIPLIER_RATE * step)
        self.samples = self._model.num_timesteps
        self.seconds = time.perf_counter() - started
        rows = world.sums[-EPISODES:] or [self._episode()]
        return self._frozen(), np.asarray(rows)
