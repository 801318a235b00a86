"""Vector environments: several copies that take their steps together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._appropo import ProblemError, WorldError


class Together:
    """A vector environment whose copies are acted in as if each were alone."""

    def __init__(self, env: Any) -> None:
        from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

        if isinstance(env.unwrapped, (AsyncVectorEnv, SyncVectorEnv)) and env is not env.unwrapped:
            raise ProblemError(
                f"{type(env).__name__} wraps a vector environment, and results are judged in a single one; wrap the "
                "single environments before they are put together"
            )
        if not isinstance(env.unwrapped, (AsyncVectorEnv, SyncVectorEnv)):
            raise ProblemError(
                f"{type(env.unwrapped).__name__} can't start one of its copies alone; make the vector environment with "
                'vectorization_mode="sync" or "async"'
            )
        self.env = env
        #: What each copy will do, while it is submitted and not yet done.
        self.actions: list[Any] = [None] * env.num_envs
        #: What each copy's step led to, until it is asked for.
        self.steps: list[Any] = [None] * env.num_envs
        #: What is seen at the start of an episode that is not yet asked for.
        self.starts: list[Any] = [None] * env.num_envs

    def begin(self, seed: int) -> None:
        """Starts all of them."""
        observations, _ = self.env.reset(seed=seed)
        self.starts = self._each(observations)
        self.steps = [None] * self.env.num_envs
        self.actions = [None] * self.env.num_envs

    def begin_one(self, copy: int) -> Any:
        """Starts one of them anew, unless it has started by itself."""
        if self.starts[copy] is None:
            mask = np.arange(self.env.num_envs) == copy
            observations, _ = self.env.reset(options={"reset_mask": mask})
            self.starts[copy] = self._each(observations)[copy]
        start, self.starts[copy] = self.starts[copy], None
        return start

    def step(self, copy: int) -> Any:
        """What a copy's step led to; the first to ask takes the steps of all."""
        if self.steps[copy] is None:
            if any(action is None for action in self.actions):
                raise WorldError("a vector environment takes its steps together; learn in it with ppo or a2c")
            self._step_all()
        step, self.steps[copy] = self.steps[copy], None
        return step

    def _step_all(self) -> None:
        actions = np.stack([np.asarray(action) for action in self.actions])
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        seen = self._each(observations)
        self.actions = [None] * self.env.num_envs
        for copy in range(self.env.num_envs):
            observation, info = seen[copy], _of(infos, copy)
            # With this there, the copy has started its next episode in the same step.
            if "final_obs" in info:
                observation, self.starts[copy] = info["final_obs"], observation
                info = _of(infos["final_info"], copy) if "final_info" in infos else {}
            over = bool(terminated[copy]), bool(truncated[copy])
            self.steps[copy] = (observation, rewards[copy], *over, info)

    def _each(self, observations: Any) -> list[Any]:
        from gymnasium.vector.utils import iterate

        return [_copied(seen) for seen in iterate(self.env.observation_space, observations)]


class OneOf:
    """One copy of a vector environment, as an environment of its own."""

    spec = None

    def __init__(self, together: Together, copy: int) -> None:
        self.observation_space = together.env.single_observation_space
        self.action_space = together.env.single_action_space
        self._together, self._copy = together, copy

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode. The first copy's seed is that of all."""
        if seed is not None and self._copy == 0:
            self._together.begin(seed)
        return self._together.begin_one(self._copy), {}

    def submit_action(self, action: Any) -> None:
        """Says what it will do."""
        self._together.actions[self._copy] = action

    def step(self, action: Any) -> Any:
        """Does what it has said."""
        return self._together.step(self._copy)


def single(env: Any) -> Any:
    """An environment of the same kind as the copies of a vector environment."""
    return env.unwrapped.env_fns[0]()


def _of(infos: Any, copy: int) -> dict[str, Any]:
    """The part of a vector environment's info that is about one copy."""
    found = {}
    for key, value in infos.items():
        is_there = infos.get("_" + key)
        if not key.startswith("_") and (is_there is None or is_there[copy]):
            found[key] = _of(value, copy) if isinstance(value, dict) else value[copy]
    return found


def _copied(seen: Any) -> Any:
    return {key: _copied(part) for key, part in seen.items()} if isinstance(seen, dict) else np.array(seen)
