"""Problems: a world, what is measured in it, and what must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ._appropo import Model, ProblemError, Session, built_in, worlds
from .arguments import counted, meant, number, place, shown, text, whole
from .constraints import Constraint
from .environments import (
    BuiltIn,
    Measured,
    Outside,
    Played,
    Transition,
    acted,
    action_size,
    maker,
    with_reward_and_steps,
)
from .oracles import Asked
from .policy import Shape
from .sets import ConvexSet
from .shared import Shared
from .tabular import model_of
from .toml import write


class Problem(Shared):
    """A world, what is measured along its episodes, and the constraints on the expected long-term measurements.

    ``env`` is the id of a Gymnasium or MO-Gymnasium environment, a function that makes one, an environment, or the name
    of a built-in world. ``measure`` says how each measure is found in a step: a number, the key of an entry of
    ``info``, or a function of the :class:`Transition`. The reward is always there as "reward", the number of steps
    as "steps". ``horizon`` cuts episodes off; without one they end as the environment says.
    """

    #: Makes another copy of the world, as Python plays it.
    _played: Callable[..., Played]

    def __init__(
        self,
        env: Any,
        constraints: Constraint | Sequence[Constraint] = (),
        measure: Mapping[str, Measured] | None = None,
        *,
        discount: float,
        horizon: int | None = None,
        name: str | None = None,
    ) -> None:
        discount = number("discount", discount)
        horizon = None if horizon is None else whole("horizon", horizon)
        name = None if name is None else text("name", name)
        self._sets: dict[str, ConvexSet] = {}
        self.constraints = _listed(constraints)
        if isinstance(env, str) and env in worlds():
            env = BuiltIn(env)
        self._world: Outside | Model | None = None
        self._shape = Shape()
        if isinstance(env, BuiltIn):
            if measure:
                raise ProblemError(f"{env.name} has measures of its own; leave measure out")
            self.name = name or env.name
            self._played = lambda _=None: _played(env, discount, horizon)
            table = {"name": env.name, **env.settings}
            if horizon is not None:
                table["horizon"] = horizon
        else:
            table = self._outside(env, with_reward_and_steps({} if measure is None else measure), horizon)
            self.name = name or str(table["about"])
        lines = [f"{key} = {write(value)}" for key, value in table.items()]
        environment = "[environment]\n" + "\n".join(lines)
        self._text = f"discount = {write(discount)}\n\n{environment}\n\n"
        self._own = "[solve]\n"
        self._discount, self._horizon = discount, table.get("horizon")
        measures = self.measures
        for measured in (name for constraint in self.constraints for name in constraint.measures):
            if measured not in measures:
                add = "" if isinstance(env, BuiltIn) else f'; add it to measure={{"{measured}": ...}}'
                known = ", ".join(measures)
                raise ProblemError(f'measure "{measured}" is not one of {known}{add}{meant(measured, measures)}')
        self._text += "\n".join(constraint.text(measures, self._sets) for constraint in self.constraints)
        # Mistakes are told where the problem is made, not where it is solved.
        self._session({})

    @classmethod
    def load(cls, name_or_path: str | Path) -> Problem:
        """A problem file, or the built-in problem of this name.

        >>> Problem.load("mars-rover-diverse").measures["visits"]
        64
        """
        path = place("name_or_path", name_or_path)
        content = built_in(str(path))
        if content is None or path.is_file():
            try:
                content = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ProblemError(f"{path} can't be read ({error}), nor is it a built-in problem") from error
        try:
            return cls._of(path.stem, content)
        except ProblemError as error:
            raise ProblemError(f"{path}: {error}") from None

    @classmethod
    def _of(cls, name: str, text: str) -> Problem:
        """The problem of a file's text."""
        problem = cls.__new__(cls)
        problem.name, problem.constraints = name, ()
        problem._sets, problem._world = {}, None
        problem._shape, problem._played = Shape(), _unknown
        problem._discount, problem._horizon = 1.0, None
        # Written out, the settings come last, one a line. Those left at their defaults stay open.
        stated, _, settings = Session(name, text).resolved().rpartition("\n[solve]\n")
        chosen = [line for line in settings.splitlines() if not line.endswith("# default")]
        problem._text, problem._own = stated + "\n", "\n".join(["[solve]", *chosen]) + "\n"
        return problem

    def _outside(self, env: Any, measure: Mapping[str, Measured], horizon: int | None) -> dict[str, Any]:
        make, about, lanes = maker(env)
        first = Played(make(None), measure)
        spare = [first]

        def played(copy: int | None = None) -> Played:
            return spare.pop() if spare and copy is None else Played(make(copy), measure, sizes)

        self._played = played
        self._shape = Shape(first.observed.flatten, acted(first.env.action_space), first.observed.ndim)
        seen, done = first.observed.size, action_size(first.env.action_space)
        sizes = first.entries()
        measures = list(zip(measure, sizes, strict=True))
        model = model_of(first.env, measure, measures) if lanes == 1 else None
        # The environment cuts episodes off by itself; whoever plans or judges has to know.
        limit = getattr(getattr(first.env, "spec", None), "max_episode_steps", None)
        if limit is not None:
            horizon = limit if horizon is None else min(horizon, limit)
        self._world = model or Outside(self._played, seen, done, measures, lanes)
        table: dict[str, Any] = {
            "name": "outside",
            "about": about,
            "measures": [name for name, _ in measures],
            "entries": [count for _, count in measures],
        }
        if isinstance(seen, int):
            table["states"] = seen
        else:
            table["observation"] = len(seen)
        if isinstance(done, int):
            table["choices"] = done
        else:
            table["lower"], table["upper"] = [low for low, _ in done], [high for _, high in done]
        if horizon is not None:
            table["horizon"] = horizon
        return table

    @property
    def measures(self) -> dict[str, int]:
        """The measures, with their numbers of entries."""
        return dict(self._session({}).measures)

    def resolved(self, **settings: Any) -> str:
        """The problem as a file with every default written out."""
        return self._session(settings).resolved()

    def _session(self, settings: Mapping[str, Any], asked: Asked | None = None) -> Session:
        text = self._text + self._own
        given = [f"{key} = {write(value)}" for key, value in settings.items() if value is not None]
        if given:
            text = self._text + _overridden(self._own, given)
        sets = {name: target._core for name, target in self._sets.items()}
        return Session(self.name, text, self._world, sets, asked)

    def __repr__(self) -> str:
        # Of a problem file only its text is known here.
        held = counted(len(self.constraints), "constraint") if self.constraints else "its constraints"
        return f"<Problem {self.name}: {held}>"


def _listed(constraints: Any) -> tuple[Constraint, ...]:
    """One constraint or several."""
    if isinstance(constraints, Constraint):
        return (constraints,)
    if not isinstance(constraints, Iterable):
        raise ProblemError(f"constraints is {shown(constraints)}; expected a list of them")
    listed = tuple(constraints)
    for constraint in listed:
        if not isinstance(constraint, Constraint):
            instead = "write one as ap.measure('cost') <= 1"
            if type(constraint).__module__.startswith("cvxpy."):
                instead = "make a set of it, as in ap.measure('z').within(ap.Custom.from_cvxpy(x, [constraint]))"
            raise ProblemError(f"{shown(constraint)} is no constraint; {instead}")
    return listed


def _played(env: BuiltIn, discount: float, horizon: int | None) -> Played:
    """A built-in world as Python plays it."""
    from .gym import World

    world = World(env.name, discount=discount, horizon=horizon, **env.settings)
    return Played(world, {name: _entry(name) for name, _ in world._measures})


def _entry(name: str) -> Callable[[Transition], Any]:
    return lambda step: step.info["z"][name]


def _unknown(_: int | None = None) -> Played:
    raise ProblemError("oracles of Python need a problem that was made in Python; make it with ap.Problem(...)")


def _overridden(table: str, given: list[str]) -> str:
    """A table of settings with some of them given anew."""
    keys = {line.partition(" = ")[0] for line in given}
    kept = [line for line in table.splitlines() if line.partition("=")[0].strip() not in keys]
    return "\n".join([kept[0], *given, *kept[1:]]) + "\n"
