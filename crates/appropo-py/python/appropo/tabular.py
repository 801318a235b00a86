"""Environments with a table ``P`` of what can happen, as models to plan in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._appropo import Model
from .environments import Measured, Played, Transition, joined

#: Wrappers that leave what happens in a step as it is.
PLAIN = ("TimeLimit", "OrderEnforcing", "PassiveEnvChecker")


class _Unknown(Exception):
    """A measure looks at what the table does not hold."""


class _Nothing(dict[str, Any]):
    """The info of a table."""

    def __getitem__(self, key: str) -> Any:
        raise _Unknown

    def get(self, key: str, default: Any = None) -> Any:
        raise _Unknown


class _Truncated:
    """Whether a step of a table is cut off."""

    def __bool__(self) -> bool:
        raise _Unknown

    def __float__(self) -> float:
        raise _Unknown


_UNKNOWN: Any = _Truncated()


def _unchanged(env: Any) -> Any:
    """The environment inside its wrappers, if they leave its steps as the table has them; else nothing."""
    while env is not getattr(env, "unwrapped", env):
        if type(env).__name__ not in PLAIN:
            return None
        env = env.env
    # A class that inherits the table of another but takes steps of its own.
    with_table = [kind for kind in type(env).__mro__ if kind.__module__.startswith("gymnasium.envs.toy_text")]
    steps: Any = getattr(type(env), "step", None)
    return None if with_table and steps is not getattr(with_table[0], "step", None) else env


def model_of(env: Any, measure: Mapping[str, Measured], entries: list[tuple[str, int]]) -> Model | None:
    """The model of an environment with ``P[state][action] = [(probability, next, reward, terminated), ...]``.

    ``None`` where it has no such table, or where a measure looks at what the table does not hold.
    """
    world = _unchanged(env)
    table, start = getattr(world, "P", None), getattr(world, "initial_state_distrib", None)
    if not isinstance(table, Mapping) or start is None:
        return None
    played = Played(env, measure)
    states, actions = int(env.observation_space.n), int(env.action_space.n)
    # Whether a step ends is the step's, not the state's that it leads to: those that do lead to one more state.
    end = states
    outcomes = []
    for state, row in table.items():
        for action, possible in row.items():
            for probability, following, reward, terminated in possible:
                step = Transition(
                    int(state), int(action), int(following), float(reward), bool(terminated), _UNKNOWN, _Nothing()
                )
                try:
                    z = joined(played.measured(step))
                except _Unknown:
                    return None
                target = end if terminated else int(following)
                outcomes.append((int(state), int(action), float(probability), target, z.tolist()))
    places = [(s, float(p)) for s, p in enumerate(np.asarray(start, dtype=np.float64)) if p > 0]
    return Model(states + 1, actions, entries, places, [end], outcomes)
