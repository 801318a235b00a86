"""Worlds that Python brings: Gymnasium, MO-Gymnasium, Safety-Gymnasium, tables of probabilities.

Whatever the environment, it is played through :class:`Played`, which measures every step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ._appropo import ProblemError, WorldError
from .vector import OneOf, Together, single

#: The size of a space: how many elements it has, or the bounds of each number.
Size = int | list[tuple[float, float]]
#: How a measure is found: a constant, the key of an info entry, or a function of the step.
Measured = float | str | Callable[["Transition"], Any]


class Transition(NamedTuple):
    """A step of an episode, as measures see it."""

    #: What was seen before the step.
    previous: Any
    #: What was done.
    action: Any
    #: What is seen after it.
    observation: Any
    reward: Any
    terminated: bool
    truncated: bool
    info: dict[str, Any]


@dataclass(frozen=True)
class Info:
    """An entry of the info that comes with a step."""

    key: str
    default: float | None = None

    def __call__(self, step: Transition) -> Any:
        value = step.info.get(self.key, self.default)
        if value is None:
            known = ", ".join(map(str, step.info)) or "nothing"
            raise WorldError(
                f'info has no "{self.key}", only {known}; where it is not always there, '
                f'measure ap.info("{self.key}", default=0.0)'
            )
        return value


def info(key: str, default: float | None = None) -> Info:
    """The entry of ``info`` under a key, as a measure; ``default`` stands for it where it is missing."""
    return Info(key, default)


@dataclass(frozen=True)
class BuiltIn:
    """A world of appropo itself, with its settings: ``BuiltIn("mars-rover", {"slip": 0.1})``."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outside:
    """How worlds of Python are made, and of what kind they are."""

    make: Callable[[int | None], Any]
    observations: Size
    actions: Size
    measures: list[tuple[str, int]]
    #: How many are played in at once.
    lanes: int = 1


class Played:
    """An environment as the solver plays it: flat observations and a measurement in every step."""

    def __init__(self, env: Any, measure: Mapping[str, Measured], sizes: list[int] | None = None) -> None:
        self.env = env
        self._names, self._sizes = list(measure), sizes
        self.observed = flattened("observation", env.observation_space)
        self._see = self.observed.flatten
        self._act = acted(env.action_space)
        self._parts = [_part(how) for how in measure.values()]
        self._previous: Any = None
        if hasattr(env, "announce"):
            self.announce = lambda action: env.announce(self._act(action))

    def reset(self, seed: int | None) -> Any:
        """Starts an episode."""
        answer = self.env.reset(seed=seed)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise WorldError(
                f"reset() returned {type(answer).__name__}; expected (observation, info), as Gymnasium 1 has it"
            )
        self._previous = answer[0]
        return self._see(answer[0])

    @property
    def last(self) -> Any:
        """What was seen last, as the environment gave it."""
        return self._previous

    def transition(self, action: Any) -> Transition:
        """Acts as the solver does."""
        return self.taken(self._act(action))

    def taken(self, done: Any) -> Transition:
        """Takes an action of the environment."""
        observation, reward, terminated, truncated, about = five(self.env.step(done))
        step = Transition(self._previous, done, observation, reward, terminated, truncated, about)
        self._previous = observation
        return step

    def measured(self, step: Transition) -> list[Any]:
        """What each measure finds in a step."""
        return [part(step) if callable(part) else part for part in self._parts]

    def step(self, action: Any) -> tuple[Any, Any, Any, Any]:
        """Acts, and measures."""
        step = self.transition(action)
        z: Any = self.measured(step)
        if not all(map(_is_single, z)):
            self._check(z)
            z = joined(z)
        return self._see(step.observation), z, step.terminated, step.truncated

    def _check(self, parts: list[Any]) -> None:
        for name, part, size in zip(self._names, parts, self._sizes or [], strict=False):
            if np.size(part) != size:
                raise WorldError(
                    f'measure "{name}" has {np.size(part)} entries here; expected {size}, as in the first step'
                )

    def entries(self) -> list[int]:
        """How many entries each measure has, found by taking a step."""
        self.reset(0)
        space = self.env.action_space
        space.seed(0)
        sample = np.asarray(space.sample())
        action = int(sample) - int(space.start) if hasattr(space, "n") else sample.ravel()
        return [int(np.size(value)) for value in self.measured(self.transition(action))]


def _part(how: Measured) -> Any:
    if isinstance(how, str):
        return _reward if how == "reward" else Info(how)
    return how if callable(how) else float(how)


def _reward(step: Transition) -> Any:
    return step.reward


def _is_single(value: Any) -> bool:
    return isinstance(value, (float, int, np.floating, np.integer, np.bool_))


def joined(parts: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])


def five(answer: Any) -> tuple[Any, Any, Any, Any, Any]:
    """What a step returns: Gymnasium's five values, or Safety-Gymnasium's six with the cost put into the info."""
    if len(answer) == 5:
        return answer  # type: ignore[no-any-return]
    if len(answer) == 6:
        observation, reward, cost, terminated, truncated, about = answer
        return observation, reward, terminated, truncated, {**about, "cost": cost}
    raise WorldError(
        f"step() returned {len(answer)} values; expected (observation, reward, terminated, truncated, info)"
    )


@dataclass(frozen=True)
class Flattened:
    """A space of observations as the solver sees it."""

    size: Size
    flatten: Callable[[Any], Any]
    #: The axes of an array of one observation; None where it is no array.
    ndim: int | None


def flattened(what: str, space: Any) -> Flattened:
    """A space as a number of elements or a vector."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return Flattened(int(space.n), lambda seen: int(np.asarray(seen).item()) - start, 0)
    if isinstance(space, spaces.Box):
        entries = int(np.prod(space.shape))
        return Flattened([(-np.inf, np.inf)] * entries, lambda seen: seen, len(space.shape))
    try:
        flat = spaces.flatten_space(space)
        return Flattened([(-np.inf, np.inf)] * flat.shape[0], lambda seen: spaces.flatten(space, seen), None)
    except (NotImplementedError, AttributeError, TypeError):
        raise ProblemError(f"the {what} space is {space}; expected one that can be made a vector") from None


def acted(space: Any) -> Callable[[Any], Any]:
    """Turns what the solver does into an action of this space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return (lambda action: action + start) if start else (lambda action: action)
    if isinstance(space, spaces.Box):
        shape, dtype = space.shape, space.dtype
        return lambda action: np.asarray(action, dtype=dtype).reshape(shape)
    raise ProblemError(f"the action space is {space}; expected Discrete or Box")


def action_size(space: Any) -> Size:
    """How many actions there are, or their bounds."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return int(space.n)
    acted(space)
    # A file has no infinity.
    largest = np.finfo(np.float64).max
    low, high = (
        np.nan_to_num(np.asarray(b, dtype=np.float64).ravel(), posinf=largest, neginf=-largest)
        for b in (space.low, space.high)
    )
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def maker(env: Any) -> tuple[Callable[[int | None], Any], str, int]:
    """A function that makes copies of an environment, what it is called, and how many are played in at once.

    Copies are numbered where several are played in at once, and have no number where one is played in alone.
    """
    if isinstance(env, str):
        make, about = _by_id(env), env
    elif isinstance(env, type) or callable(env) and not hasattr(env, "step"):
        make, about = env, getattr(env, "__name__", type(env).__name__)
    elif hasattr(env, "num_envs") and hasattr(env, "single_action_space"):
        together = Together(env)
        spec = getattr(env, "spec", None)
        about = spec.id if spec is not None else type(env).__name__
        return (lambda copy: single(env) if copy is None else OneOf(together, copy)), about, int(env.num_envs)
    elif hasattr(env, "reset") and hasattr(env, "step"):
        make, about = _copies(env), env.spec.id if getattr(env, "spec", None) is not None else type(env).__name__
    else:
        raise ProblemError(
            f"env is {env!r}; expected the id of an environment, a function that makes one, an environment, "
            "or the name of a built-in world"
        )
    return (lambda _: make()), about, 1


def _copies(env: Any) -> Callable[[], Any]:
    given = [env]

    def another() -> Any:
        # The one that was given comes first, since it may be all there is.
        if given:
            return given.pop()
        try:
            # Not by its spec, which knows nothing of what was changed since it was made.
            return copy.deepcopy(env)
        except Exception as error:
            raise ProblemError(
                f"{env} can't be copied ({error}), and several are needed; pass a function that makes one"
            ) from error

    return another


def _by_id(name: str) -> Callable[[], Any]:
    try:
        import gymnasium
    except ImportError:
        raise ProblemError(f'env "{name}" needs Gymnasium; install appropo[gymnasium]') from None
    if name not in gymnasium.registry:
        try:
            import mo_gymnasium

            if name in gymnasium.registry:
                return lambda: mo_gymnasium.make(name)
        except ImportError:
            pass
        # Gymnasium says what it knows instead.
        gymnasium.spec(name)
    if str(gymnasium.registry[name].entry_point).startswith("mo_gymnasium"):
        import mo_gymnasium

        return lambda: mo_gymnasium.make(name)
    return lambda: gymnasium.make(name)
