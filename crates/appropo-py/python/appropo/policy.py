"""Mixed policies: before each episode one policy is drawn, which then takes all its actions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._appropo import Policy


class MixedPolicy:
    """A mixture of policies, used as those of Stable-Baselines3 are.

    A policy is drawn at the first call and whenever ``episode_start`` is true; call :meth:`reset` between episodes where
    you don't pass it. Several observations at once, one a row, are of as many episodes.
    """

    def __init__(self, core: Policy) -> None:
        self._core = core
        #: The policy and the step of every episode under way.
        self._episodes: list[tuple[int, int]] = []

    @property
    def weights(self) -> NDArray[np.float64]:
        """The probability of each policy."""
        return self._core.weights

    def reset(self, seed: int | None = None) -> None:
        """Ends all episodes: the next call draws anew, from this seed where one is given."""
        self._episodes = []
        if seed is not None:
            self._core.seed(seed)

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """The action for an observation, or for each of several, and the state as it was passed.

        ``deterministic`` takes the likeliest action of the policy that was drawn. Constraints are promised for actions
        as they are drawn, not for these.
        """
        entries = 1 if isinstance(self._core.observations, int) else len(self._core.observations)
        seen = np.asarray(observation, dtype=np.float64)
        is_single = seen.size == entries and seen.ndim <= 1 or seen.ndim >= 1 and seen.shape[0] * entries != seen.size
        rows = seen.reshape(1, -1) if is_single else seen.reshape(seen.shape[0], -1)
        starts = np.broadcast_to(np.asarray(False if episode_start is None else episode_start, dtype=bool), len(rows))
        if len(self._episodes) != len(rows):
            self._episodes = [(self._core.draw(), 0) for _ in rows]
        else:
            self._episodes = [
                (self._core.draw(), 0) if start else episode
                for start, episode in zip(starts, self._episodes, strict=True)
            ]
        actions = []
        for place, row in enumerate(rows):
            number, step = self._episodes[place]
            actions.append(self._core.act(number, row.tolist(), step, deterministic))
            self._episodes[place] = (number, step + 1)
        if isinstance(self._core.actions, int):
            whole = [int(action[0]) for action in actions]
            return (whole[0] if is_single else np.asarray(whole)), state
        return (actions[0] if is_single else np.stack(actions)).astype(np.float32), state

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        largest = ", ".join(f"{weight:.3g}" for weight in sorted(self.weights, reverse=True)[:4])
        more = ", ..." if len(self) > 4 else ""
        return f"<MixedPolicy of {len(self)} with weights {largest}{more}>"
