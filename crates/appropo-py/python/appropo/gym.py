"""Built-in worlds as Gymnasium environments. Needs the extra ``appropo[gymnasium]``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._appropo import ProblemError, WorldError
from .arguments import numbers, shown
from .environments import BuiltIn
from .extras import needed
from .problem import Problem

with needed("gymnasium"):
    import gymnasium
    from gymnasium import spaces


class World(gymnasium.Env[Any, Any]):
    """A built-in world. ``info["z"]`` has the measurement of every step; the reward is the measure "reward".

    >>> env = World("frozen-lake", slippery=False)
    >>> env.reset(seed=0)
    (0, {})
    >>> observation, reward, terminated, truncated, info = env.step(2)
    >>> observation, info["z"]["steps"]
    (1, 1.0)
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}

    def __init__(
        self,
        name: str,
        *,
        discount: float = 0.99,
        horizon: int | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise ProblemError(f'render_mode is "{render_mode}"; expected None or "ansi"')
        self._made = {"name": name, "discount": discount, "horizon": horizon, "render_mode": render_mode, **settings}
        core = Problem(BuiltIn(name, settings), discount=discount, horizon=horizon)._core
        self.render_mode = render_mode
        self._measures = core.measures
        self._world = core.world()
        self._grid = core.grid
        self._observation: Any = None
        seen, done = self._world.observations, self._world.actions
        self.observation_space = _space(seen)
        self.action_space = _space(done)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode; a seed makes all that follows the same again."""
        super().reset(seed=seed)
        if seed is not None:
            self._world.seed(seed)
        self._observation = self._seen(self._world.reset())
        return self._observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Acts."""
        if isinstance(self.action_space, spaces.Discrete) and not self.action_space.contains(action):
            raise WorldError(f"the action is {shown(action)}; expected one of {self.action_space}")
        row = numbers("the action", action, WorldError).ravel().tolist()
        seen, z, ended, cut_off = self._world.step(row)
        measured, start = {}, 0
        for name, entries in self._measures:
            part = z[start : start + entries]
            measured[name] = float(part[0]) if entries == 1 else part
            start += entries
        self._observation = self._seen(seen)
        reward = measured.get("reward", 0.0)
        return self._observation, float(np.sum(reward)), ended, cut_off, {"z": measured}

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        """Another world of the same kind, not yet started."""
        return World(**self._made)

    def render(self) -> str | None:
        """The map with a mark where the agent is."""
        if self.render_mode is None or self._grid is None:
            return None
        cells = [list(row) for row in self._grid]
        if isinstance(self._observation, int) and self._observation < len(cells) * len(cells[0]):
            cells[self._observation // len(cells[0])][self._observation % len(cells[0])] = "@"
        return "\n".join("".join(row) for row in cells)

    def _seen(self, observation: Any) -> Any:
        if isinstance(self.observation_space, spaces.Discrete):
            return int(observation[0])
        return np.asarray(observation, dtype=np.float64)


def _space(size: int | list[tuple[float, float]]) -> spaces.Space[Any]:
    if isinstance(size, int):
        return spaces.Discrete(size)
    low, high = zip(*size, strict=True)
    return spaces.Box(np.asarray(low), np.asarray(high), dtype=np.float64)
