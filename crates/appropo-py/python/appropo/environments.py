"""Worlds that Python brings: Gymnasium, MO-Gymnasium, Safety-Gymnasium, tables of probabilities.

Whatever the environment, it is played through :class:`Played`, which measures every step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ._appropo import ProblemError, WorldError, registered
from .arguments import meant, number, numbers, shown, text
from .spaces import acted, flattened
from .vector import OneOf, Together, single

#: Steps that are taken to see whether an environment shows what its observation space says.
PROBED = 1_000
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
        if not isinstance(step.info, Mapping):
            raise WorldError(f"the step's info is {shown(step.info)}; expected a dictionary")
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
    return Info(key, None if default is None else number("default", default))


@dataclass(frozen=True)
class BuiltIn:
    """A world of appropo itself, with its settings: ``BuiltIn("mars-rover", {"slip": 0.1})``."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text("the name of a built-in world", self.name)
        if not isinstance(self.settings, Mapping):
            raise ProblemError(f"settings is {shown(self.settings)}; expected a dictionary")


def worlds() -> list[str]:
    """The names of the built-in worlds."""
    return [name for kind, (name, _, _) in registered() if kind == "environment" and name != "external"]


class Played:
    """An environment as the solver plays it: flat observations and a measurement in every step."""

    def __init__(
        self, env: Any, measure: Mapping[str, Measured], sizes: list[int] | None = None, counts: bool = True
    ) -> None:
        for part in ("observation_space", "action_space"):
            if not hasattr(env, part):
                raise ProblemError(f"env: {shown(env)} has no {part}; expected an environment of Gymnasium")
        self.env = env
        self._names, self._sizes = list(measure), sizes
        self.observed = flattened(env.observation_space, counts)
        self._see = self.observed.flatten
        self._act = acted(env.action_space)
        self._parts = [measured_by(name, how) for name, how in measure.items()]
        self._previous: Any = None
        if hasattr(env, "submit_action"):
            self.submit_action = lambda action: env.submit_action(self._act(action))

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
            z = joined(self._checked(z))
        return self._see(step.observation), z, step.terminated, step.truncated

    def _checked(self, parts: list[Any]) -> list[Any]:
        """The parts of a measurement as arrays, which have as many entries as in the first step."""
        named = zip(self._names, parts, strict=True)
        arrays = [numbers(f'measure "{name}"', part, WorldError, finite=False) for name, part in named]
        for name, array, size in zip(self._names, arrays, self._sizes or [], strict=False):
            if array.size != size:
                raise WorldError(
                    f'measure "{name}" has {array.size} entries here; expected {size}, as in the first step'
                )
        return arrays

    def keeps_to_its_space(self) -> bool:
        """Whether random episodes show only what the observation space has, as far as that matters."""
        if flattened(self.env.observation_space, counts=False).size == self.observed.size:
            return True
        actions = self.env.action_space
        actions.seed(0)
        try:
            self.reset(0)
            for _ in range(PROBED):
                step = self.taken(actions.sample())
                self._see(step.observation)
                if step.terminated or step.truncated:
                    self.reset(None)
        except WorldError:
            return False
        return True

    def entries(self) -> list[int]:
        """How many entries each measure has, found by taking a step."""
        self.reset(0)
        space = self.env.action_space
        space.seed(0)
        sample = np.asarray(space.sample())
        action = int(sample) - int(space.start) if hasattr(space, "n") else sample.ravel()
        return [value.size for value in self._checked(self.measured(self.transition(action)))]


def with_reward_and_steps(measure: Any) -> dict[str, Measured]:
    """All that is measured: what the caller names, the reward, and the number of steps."""
    if not isinstance(measure, Mapping):
        raise ProblemError(f"measure is {shown(measure)}; expected a dictionary, such as {{'cost': 'cost'}}")
    for name in measure:
        text("the name of a measure", name)
    steps = measure.get("steps", 1)
    if not isinstance(steps, Real) or steps != 1:
        raise ProblemError(f'measure "steps" is {shown(steps)}, but "steps" counts steps: it is 1 or left out')
    return {"reward": "reward", "steps": 1.0, **measure}


def measured_by(name: str, how: Measured) -> Any:
    if isinstance(how, str):
        return _reward if how == "reward" else Info(how)
    if callable(how):
        return how
    if not isinstance(how, Real) or not np.isfinite(float(how)):
        raise ProblemError(
            f'measure "{name}" is {shown(how)}; expected a number, the key of an entry of info, or a function of the '
            "step"
        )
    return float(how)


def _reward(step: Transition) -> Any:
    return step.reward


def _is_single(value: Any) -> bool:
    return isinstance(value, (float, int, np.floating, np.integer, np.bool_))


def joined(parts: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])


def five(answer: Any) -> tuple[Any, Any, Any, Any, Any]:
    """What a step returns: Gymnasium's five values, or Safety-Gymnasium's six with the cost put into the info."""
    count = len(answer) if isinstance(answer, (tuple, list)) else None
    if count == 5:
        return answer  # type: ignore[no-any-return]
    if count == 6:
        observation, reward, cost, terminated, truncated, about = answer
        return observation, reward, terminated, truncated, {**about, "cost": cost}
    found = f"{count} values" if count is not None else type(answer).__name__
    raise WorldError(f"step() returned {found}; expected (observation, reward, terminated, truncated, info)")


def maker(env: Any) -> tuple[Callable[[int | None], Any], str, int]:
    """A function that makes copies of an environment, what it is called, and how many are played in at once.

    Copies are numbered where several are played in at once, and have no number where one is played in alone.
    """
    make: Callable[[], Any]
    if isinstance(env, str):
        make, about = _by_id(env), env
        first = make()
    elif isinstance(env, type) or callable(env) and not hasattr(env, "step"):
        make, about = env, getattr(env, "__name__", type(env).__name__)
        first = make()
    elif hasattr(env, "reset") and hasattr(env, "step"):
        make, about = (lambda: _copy(env)), env.spec.id if getattr(env, "spec", None) else type(env).__name__
        first = env
    else:
        raise ProblemError(
            f"env is {shown(env)}; expected the id of an environment, a function that makes one, an environment, "
            "or the name of a built-in world"
        )
    if hasattr(first, "num_envs") and hasattr(first, "single_action_space"):
        together = Together(first)
        return (lambda copy: single(first) if copy is None else OneOf(together, copy)), about, int(first.num_envs)
    # The first is not made in vain: where it was given, it may be all there is.
    spare = [first]
    return (lambda _: spare.pop() if spare else make()), about, 1


def _copy(env: Any) -> Any:
    try:
        # Not by its spec, which knows nothing of what was changed since it was made.
        return copy.deepcopy(env)
    except Exception as error:
        raise ProblemError(
            f"{env} can't be copied ({error}), and several are needed; pass a function that makes one"
        ) from error


def _by_id(name: str) -> Callable[[], Any]:
    own = meant(name, worlds())
    try:
        import gymnasium
    except ImportError:
        raise ProblemError(f'env "{name}" needs Gymnasium; install appropo[gymnasium]{own}') from None
    if name not in gymnasium.registry:
        try:
            import mo_gymnasium

            if name in gymnasium.registry:
                return lambda: mo_gymnasium.make(name)
        except ImportError:
            pass
        try:
            gymnasium.spec(name)
        except (gymnasium.error.Error, ImportError) as error:
            unknown = f'env is "{name}", which is no built-in world, nor of Gymnasium'
            raise ProblemError(f"{unknown}{own} ({error})") from error
    if str(gymnasium.registry[name].entry_point).startswith("mo_gymnasium"):
        import mo_gymnasium

        return lambda: mo_gymnasium.make(name)
    return lambda: gymnasium.make(name)
