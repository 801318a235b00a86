"""Mixed policies: before each episode one policy is drawn, which then takes all its actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._appropo import Policy, WorldError
from .arguments import numbers, shown, whole
from .shared import Shared


@dataclass(frozen=True)
class Shape:
    """How an environment's observations and actions differ from those of a policy."""

    see: Callable[[Any], Any] = lambda observation: observation
    act: Callable[[Any], Any] = lambda action: action
    #: The axes of an array of one observation; None where it is no array.
    ndim: int | None = None


class MixedPolicy(Shared):
    """A mixture of policies, used as those of Stable-Baselines3 are.

    A policy is drawn at the first call and whenever ``episode_start`` is true; call :meth:`reset` between episodes
    where you don't pass it. Several observations at once, in a list or as rows of an array, are of as many episodes.
    """

    _instead = "save its result, and load that where it is needed"

    def __init__(self, core: Policy, shape: Shape | None = None) -> None:
        self._core = core
        self._shape = shape or Shape()
        self._entries = 1 if isinstance(core.observations, int) else len(core.observations)
        #: The policy and the step of every episode under way.
        self._episodes: list[tuple[int, int]] = []

    @property
    def weights(self) -> NDArray[np.float64]:
        """The probability of each policy."""
        return np.asarray(self._core.weights)

    def reset(self, seed: int | None = None) -> None:
        """Ends all episodes: the next call draws anew, from this seed where one is given."""
        self._episodes = []
        if seed is not None:
            self._core.seed(whole("seed", seed, least=0))

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
        rows, is_single = self._rows(observation)
        starts = np.asarray(False if episode_start is None else episode_start, dtype=bool)
        if starts.size not in (1, len(rows)):
            found, expected = shown(episode_start), len(rows)
            raise WorldError(f"episode_start is {found}; expected true or false for each of {expected} observations")
        starts = np.broadcast_to(starts.ravel(), len(rows))
        if len(self._episodes) != len(rows):
            starts, self._episodes = np.full(len(rows), True), [(0, 0)] * len(rows)
        actions = []
        for place, (row, start) in enumerate(zip(rows, starts, strict=True)):
            number, step = (self._core.draw(), 0) if start else self._episodes[place]
            drawn = self._core.act(number, row, step, bool(deterministic))
            actions.append(self._shape.act(int(drawn[0]) if isinstance(self._core.actions, int) else drawn))
            self._episodes[place] = (number, step + 1)
        return (actions[0] if is_single else np.asarray(actions)), state

    def _rows(self, observation: Any) -> tuple[list[list[float]], bool]:
        """The observations as vectors, and whether it is one alone."""
        axes = self._shape.ndim
        if axes is None and self._shape.see is Shape.see:
            axes = 0 if isinstance(self._core.observations, int) else 1
        try:
            is_single = isinstance(observation, dict | tuple) if axes is None else np.ndim(observation) <= axes
            parts = [observation] if is_single else list(observation)
        except (TypeError, ValueError):
            raise WorldError(f"the observation is {shown(observation)}; expected one, or a list of several") from None
        if not parts:
            raise WorldError("there is no observation; expected one or more")
        seen = [numbers("the observation", self._shape.see(part), WorldError) for part in parts]
        return [part.ravel().tolist() for part in seen], is_single

    def __copy__(self) -> MixedPolicy:
        """The same policies in episodes of their own."""
        twin = MixedPolicy(self._core, self._shape)
        twin._episodes = list(self._episodes)
        return twin

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        largest = ", ".join(f"{weight:.3g}" for weight in sorted(self.weights, reverse=True)[:4])
        more = ", ..." if len(self) > 4 else ""
        return f"<MixedPolicy of {len(self)} with weights {largest}{more}>"
