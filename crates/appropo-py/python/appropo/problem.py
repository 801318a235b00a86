"""Problems: a world, what is measured in it, and what must hold."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ._appropo import Env, Plan, ProblemError, WorldError
from ._appropo import Problem as _Problem
from .arguments import counted, meant, number, place, shown, text, whole
from .choice import Choice
from .constraints import Constraint
from .datasets import Dataset
from .environments import BuiltIn, Measured, Played, Transition, maker, with_reward_and_steps, worlds
from .models import Measuring, Model
from .oracles import Asked
from .policy import Shape
from .sets import ConvexSet
from .shared import Shared
from .spaces import acted, action_size
from .tabular import model_of
from .workers.recipe import Recipe


class Problem(Shared):
    """A world, what is measured along its episodes, and the constraints on the expected long-term measurements.

    ``env`` is the id of a Gymnasium or MO-Gymnasium environment, a function that makes one, an environment, the name
    of a built-in world, a :class:`Model`, or a :class:`Dataset` of logged episodes. ``measure`` says how each measure
    is found in a step: a number, the key of an entry of ``info``, or a function of the :class:`Transition`. The reward
    is always there as "reward", the number of steps as "steps". ``horizon`` cuts episodes off; without one they end as
    the environment says.
    """

    #: Makes another copy of the world, as Python plays it.
    _played: Callable[..., Played]
    #: What workers make the world of, or why they don't.
    _recipe: Recipe | str = "the environment is none of Python's, and threads play those of appropo itself"

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
        self.constraints = _listed(constraints)
        self._shape = Shape()
        if isinstance(env, str) and env in worlds():
            env = BuiltIn(env)
        is_built_in = isinstance(env, BuiltIn | Dataset | Model | Measuring)
        env = env.measuring() if isinstance(env, Model) else env
        if isinstance(env, Dataset):
            if measure:
                raise ProblemError("a data set has measures of its own; leave measure out")
            file = None if env._path is None else env._file
            core, by_default, self._played = Env.logged(env._core, file, "a data set"), "dataset", _only_logged
        elif isinstance(env, Measuring):
            if measure:
                raise ProblemError("a model has measures of its own; leave measure out")
            core, by_default, self._played = env._env(), env.model.name, _unplayed
        elif isinstance(env, BuiltIn):
            if measure:
                raise ProblemError(f"{env.name} has measures of its own; leave measure out")
            core, by_default = Env.built_in(env.name, dict(env.settings), discount, horizon), env.name
            self._played = _played_in(env, discount, horizon)
        else:
            measured = with_reward_and_steps({} if measure is None else measure)
            core, by_default, horizon = self._external(env, measured, discount, horizon)
        self.name = name or by_default
        measures = dict(_Problem(self.name, core, [], discount, horizon).measures)
        for asked in (name for constraint in self.constraints for name in constraint.measures):
            if asked not in measures and asked.partition("[")[0] not in measures:
                add = "" if is_built_in else f'; add it to measure={{"{asked}": ...}}'
                known = ", ".join(measures)
                raise ProblemError(f'measure "{asked}" is not one of {known}{add}{meant(asked, measures)}')
        built = [constraint.built(measures) for constraint in self.constraints]
        # Sets of one's own live as long as the problem does.
        self._sets: list[ConvexSet] = [target for _, target in built]
        self._core = _Problem(self.name, core, [constraint for constraint, _ in built], discount, horizon)
        # Mistakes are told where the problem is made, not where it is solved.
        self._core.plan({"method": "batch"} if isinstance(env, Dataset) else {})

    @classmethod
    def load(cls, name_or_path: str | Path) -> Problem:
        """A problem file, or the built-in problem of this name.

        >>> Problem.load("mars-rover-diverse").measures["visits"]
        64
        """
        return cls._of(_Problem.load(str(place("name_or_path", name_or_path))))

    @classmethod
    def _of(cls, core: _Problem) -> Problem:
        """The problem of a file or of a run."""
        problem = cls.__new__(cls)
        problem.name, problem.constraints = core.name, ()
        problem._core, problem._sets = core, []
        problem._shape, problem._played = Shape(), _unknown
        return problem

    def _external(
        self, env: Any, measure: Mapping[str, Measured], discount: float, horizon: int | None
    ) -> tuple[Env, str, int | None]:
        make, about, num_envs = maker(env)
        first = Played(make(None), measure)
        counts = first.keeps_to_its_space()
        if not counts:
            first = Played(first.env, measure, counts=False)
        spare = [first]

        def played(copy: int | None = None) -> Played:
            return spare.pop() if spare and copy is None else Played(make(copy), measure, sizes, counts)

        self._played = played
        self._shape = Shape(first.observed.flatten, acted(first.env.action_space), first.observed.ndim)
        seen, done = first.observed.size, action_size(first.env.action_space)
        sizes = first.entries()
        measures = list(zip(measure, sizes, strict=True))
        model = model_of(first.env, measure, measures) if num_envs == 1 else None
        # The environment cuts episodes off by itself; whoever plans or judges has to know.
        limit = getattr(getattr(first.env, "spec", None), "max_episode_steps", None)
        if limit is not None:
            horizon = limit if horizon is None else min(horizon, limit)
        if model is not None:
            self._recipe = "the environment's model is known, and threads play in that"
            return Env.model(model, about), about, horizon
        if num_envs > 1:
            self._recipe = "a vector environment steps its copies by itself; pass what they are copies of"
        else:
            self._recipe = Recipe(about, env, measure, sizes, counts, seen, done, discount, horizon)
        # The core holds nothing of Python's, so that all of it can be collected.
        this = weakref.ref(self)
        made = Env.external(lambda copy: _made(this(), copy), seen, done, measures, num_envs, about)
        return made, about, horizon

    @property
    def measures(self) -> dict[str, int]:
        """The measures, with their numbers of entries."""
        return dict(self._core.measures)

    def resolved(self, **settings: Any) -> str:
        """The problem as a file with every default written out. ``settings`` are those of :func:`solve`."""
        plan, _ = self._plan(self._core, settings)
        return self._core.resolved(plan)

    def _plan(self, core: _Problem, settings: Mapping[str, Any]) -> tuple[Plan, Asked | None]:
        """How to solve ``core``, and an oracle of Python's, which must live as long as the plan is used."""
        table = {key: value for key, value in settings.items() if value is not None}
        asked: Asked | None = None
        for key in ("method", "oracle", "player"):
            given = table.get(key)
            if isinstance(given, Choice):
                table |= _tables(key, given, table)
            elif key == "oracle" and given is not None and not isinstance(given, str):
                asked = Asked(given, self)
                table[key] = "external"
            elif given is not None and not isinstance(given, str):
                example = "ap.Lagrangian(ki=20)" if key == "method" else "ap.OGD(eta=0.1)"
                raise ProblemError(f"{key} is {shown(given)}; expected a name, or an object such as {example}")
        for key in ("samples", "evaluation_samples", "rounds", "seed"):
            if key in table:
                table[key] = whole(key, table[key], least=0)
        return core.plan(table, asked), asked

    @property
    def _discount(self) -> float:
        return self._core.discount

    @property
    def _horizon(self) -> int | None:
        return self._core.horizon

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {counted(self._core.constraints, 'constraint')}>"


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


def _tables(key: str, chosen: Choice, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A player, an oracle or a method with options, as settings."""
    if chosen.kind != key:
        expected = {"oracle": "an oracle", "player": "a player", "method": "a method"}[key]
        raise ProblemError(f"{key} is {chosen!r}, which is one of the {chosen.kind}s; expected {expected}")
    tables = chosen.tables()
    for twice in tables.keys() & settings.keys():
        raise ProblemError(f"{twice} is given in {chosen!r} and beside it; leave one of them out")
    return {key: chosen.name, **tables}


def _made(problem: Problem | None, copy: int | None) -> Played:
    """Another copy of the world of a problem."""
    if problem is None:
        raise WorldError("the problem of this world is gone; keep the object that was made by ap.Problem(...)")
    return problem._played(copy)


def _played_in(env: BuiltIn, discount: float, horizon: int | None) -> Callable[..., Played]:
    """Makes a built-in world as Python plays it."""

    def played(_: int | None = None) -> Played:
        from .gym import World

        world = World(env.name, discount=discount, horizon=horizon, **env.settings)
        return Played(world, {name: _entry(name) for name, _ in world._measures})

    return played


def _entry(name: str) -> Callable[[Transition], Any]:
    return lambda step: step.info["z"][name]


def _only_logged(_: int | None = None) -> Played:
    raise ProblemError('the environment is a data set, in which nobody can play; use the method "batch"')


def _unplayed(_: int | None = None) -> Played:
    raise ProblemError("oracles of Python play in environments of Python's, and this one is a model")


def _unknown(_: int | None = None) -> Played:
    raise ProblemError("oracles of Python need a problem that was made in Python; make it with ap.Problem(...)")
