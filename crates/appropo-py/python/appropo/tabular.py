"""Environments with a table ``P`` of what can happen, as models to plan in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._appropo import Model
from .environments import Measured, Played, Transition, joined


def model_of(env: Any, measure: Mapping[str, Measured], entries: list[tuple[str, int]]) -> Model | None:
    """The model of an environment with ``P[state][action] = [(probability, next, reward, terminated), ...]``.

    ``None`` where it has no such table, or where a measure looks at what the table does not hold.
    """
    table = getattr(getattr(env, "unwrapped", env), "P", None)
    start = getattr(getattr(env, "unwrapped", env), "initial_state_distrib", None)
    if not isinstance(table, Mapping) or start is None:
        return None
    played = Played(env, measure)
    states, actions = int(env.observation_space.n), int(env.action_space.n)
    ends = {int(t[1]) for row in table.values() for outcomes in row.values() for t in outcomes if t[3]}
    passed = {
        int(t[1])
        for state, row in table.items()
        if int(state) not in ends
        for outcomes in row.values()
        for t in outcomes
        if not t[3]
    }
    # A state in which some steps end and others do not: those that end go to one more state.
    end = states if ends & passed else None
    outcomes = []
    for state, row in table.items():
        if int(state) in ends - passed:
            continue
        for action, possible in row.items():
            for probability, following, reward, terminated in possible:
                step = Transition(int(state), int(action), int(following), float(reward), bool(terminated), False, {})
                try:
                    z = joined(played.measured(step))
                except Exception:  # it looks at what only a real step has
                    return None
                target = end if terminated and end is not None else int(following)
                outcomes.append((int(state), int(action), float(probability), target, z.tolist()))
    places = [(s, float(p)) for s, p in enumerate(np.asarray(start, dtype=np.float64)) if p > 0]
    finals = [end] if end is not None else sorted(ends)
    return Model(states + (end is not None), actions, entries, places, finals, outcomes)
