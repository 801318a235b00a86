"""Studies: many solves in one folder, drawn by threads, processes and machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _appropo
from ._appropo import ProblemError
from .arguments import counted, number, place, shown, text, whole
from .choice import Choice
from .drawing import Drawing, Elsewhere, Order, drawn_elsewhere, stated
from .linear import Linear
from .measures import Measure
from .problem import Problem
from .progress import Progress
from .result import Result, load
from .shared import Shared
from .utilities import Utility, objective

#: What a problem of a study may be given as.
Given = Problem | str | Path | Callable[[], Problem]


def study(
    problems: Given | Iterable[Given],
    methods: Any = "appropo",
    seeds: int | Iterable[int] = 3,
    *,
    folder: str | Path = "study",
    where: Any = "threads",
    workers: int | None = None,
    maximize: str | Measure | Linear | Utility | None = None,
    minimize: str | Measure | Linear | Utility | None = None,
    checkpoint_every: float = 60.0,
    expire_after: float = 60.0,
    retry: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> Study:
    """Solves every problem by every method with every seed, each as a run in ``folder``, and compares them.

    ``problems`` are problems, problem files, names of built-in ones, or functions that make a problem. ``methods`` are
    names such as "cpo" or "appropo:ppo", which is one with an oracle, or objects such as ``ap.Lagrangian(ki=20)``; a
    dictionary gives them names of their own, and its values may also be dictionaries of the settings of :func:`solve`.
    ``seeds`` is how many, from 0, or which. ``settings``, such as ``samples``, hold for all.

    Runs are drawn from the folder, also by other machines that call the same, and by ``appropo study FOLDER``: what has
    ended is never run again, and what was killed goes on where it was. ``where`` says who draws here: "threads",
    "processes", ``ap.Ray(num_workers=...)``, or any object with ``submit(function, argument)`` that returns a future,
    such as an executor or a Dask client; ``workers`` is how many. Where the world is Python's, others than threads need
    a function that makes the problem there. A run whose owner gives no sign of life for ``expire_after`` seconds is
    taken over. ``retry`` tries runs again that had failed.

    >>> import tempfile
    >>> rover = study("mars-rover", ["appropo", "occupancy"], seeds=1, folder=tempfile.mkdtemp())
    >>> [(run.method, run.state) for run in rover.runs]
    [('appropo', 'done'), ('occupancy', 'done')]
    """
    order = Order(
        folder=place("folder", folder).absolute(),
        methods=_methods(methods),
        seeds=_seeds(seeds),
        objective=_objective(maximize, minimize),
        settings=settings,
        drawing=Drawing(
            number("checkpoint_every", checkpoint_every), _at_least_a_second(expire_after), retry=bool(retry)
        ),
    )
    elsewhere, count = stated(where), None if workers is None else whole("workers", workers)
    made = [_made(given) for given in _listed(problems)]
    line = Progress() if Progress.is_wanted(progress) else None
    if elsewhere is None:
        core, kept = order.plan([problem for problem, _ in made])
        stopped = not _watched(line, lambda: order.drawing.draw(core, count or 0, line))
    else:
        core, kept, stopped = _elsewhere(order, made, elsewhere, count, line)
    return Study(order.folder, core, kept, stopped)


def _elsewhere(
    order: Order,
    made: list[tuple[Problem, Callable[[], Problem] | None]],
    elsewhere: Elsewhere,
    count: int | None,
    line: Progress | None,
) -> tuple[_appropo.Study, list[Any], bool]:
    for problem, function in made:
        if function is None and problem._core.is_external:
            raise _stays_here(problem.name)
    core, kept = order.plan([problem for problem, _ in made])
    functions = [function for _, function in made if function is not None]
    ours, _ = order.plan([problem for problem, function in made if function is not None])
    names = {name for name, *_ in core.states()} - {name for name, *_ in ours.states()}
    there = {name for name, *_ in _appropo.Study(order.folder, [], [], names).states()}
    if names - there:
        raise _stays_here(min(names - there))
    ended = _watched(line, lambda: drawn_elsewhere(elsewhere, order, core, functions, names, count, line))
    return core, kept, not ended


def _stays_here(name: str) -> ProblemError:
    return ProblemError(
        f"{name}: its world, sets or oracle are Python's and stay here; pass a function that makes the problem, or "
        'where="threads"'
    )


@dataclass(frozen=True)
class Run:
    """A run of a study."""

    #: The problem's name.
    problem: str
    #: The method, as it was asked for.
    method: str
    seed: int
    #: "done", "failed", "running" or "waiting".
    state: str
    #: What went wrong, where it failed.
    error: str | None
    #: Where the run is once it is done.
    folder: Path


class Study(Shared):
    """Runs side by side: which are done, and how they compare."""

    _instead = "call ap.study again, which runs nothing twice"

    def __init__(self, folder: Path, core: _appropo.Study, kept: list[Any], stopped: bool) -> None:
        #: Where the runs are.
        self.folder = folder
        #: Whether Ctrl-C ended it before all had ended.
        self.stopped = stopped
        self._core, self._kept = core, kept
        self._text, everything = core.compare()
        found = json.loads(everything)
        #: What the runs of each method on each problem came to.
        self.rows: list[dict[str, Any]] = found["rows"]
        #: Methods that can't solve a problem, with the reasons.
        self.left_out: list[dict[str, str]] = found["left_out"]
        #: The pages that compare runs, one a problem.
        self.pages = [Path(page) for page in found["pages"]]

    @property
    def runs(self) -> list[Run]:
        """All runs, as they are now."""
        states = zip(self._core.runs(), self._core.states(), strict=True)
        return [
            Run(problem, method, seed, state, error or None, folder)
            for (problem, method, seed), (_, state, error, folder) in states
        ]

    @property
    def results(self) -> list[Result]:
        """The results of the runs that are done, in the order of ``runs``."""
        problems: dict[str, Problem] = {problem.name: problem for problem in self._kept if isinstance(problem, Problem)}
        done = [run for run in self.runs if run.state == "done"]
        return [load(run.folder, problems.get(run.problem)) for run in done]

    def __str__(self) -> str:
        return self._text.rstrip()

    def __repr__(self) -> str:
        states = [run.state for run in self.runs]
        failed = f", {states.count('failed')} failed" if "failed" in states else ""
        return f"<Study: {states.count('done')} of {counted(len(states), 'run')} done{failed}; {self.folder}>"


def _watched(line: Progress | None, draw: Callable[[], bool]) -> bool:
    try:
        return draw()
    finally:
        if line is not None:
            line.close()


def _listed(problems: Any) -> list[Any]:
    is_one = isinstance(problems, Problem | str | Path) or not isinstance(problems, Iterable)
    listed = [problems] if is_one else list(problems)
    if not listed:
        raise ProblemError("problems is empty; expected one or more")
    return listed


def _made(given: Any) -> tuple[Problem, Callable[[], Problem] | None]:
    """A problem, and the function that makes it where one does."""
    if isinstance(given, Problem):
        return given, None
    if isinstance(given, str | Path):
        return Problem.load(given), None
    if not callable(given):
        raise ProblemError(f"{shown(given)} is no problem; expected a problem, a file or a function that makes one")
    problem = given()
    if not isinstance(problem, Problem):
        raise ProblemError(f"{shown(given)} made {shown(problem)}; expected a function that makes an ap.Problem")
    return problem, given


def _methods(methods: Any) -> dict[str, dict[str, Any]]:
    """Each method as settings, by its name."""
    if isinstance(methods, Mapping):
        return {text("method", name): _settings(method) for name, method in methods.items()}
    is_one = isinstance(methods, str | Choice) or not isinstance(methods, Iterable)
    listed = [methods] if is_one else list(methods)
    if not listed:
        raise ProblemError("methods is empty; expected one or more")
    named: dict[str, dict[str, Any]] = {}
    for method in listed:
        name = method if isinstance(method, str) else _name(method)
        if name in named:
            raise ProblemError(
                f'two methods are called "{name}"; give them names of their own: methods={{"{name}-a": ..., ...}}'
            )
        named[name] = _settings(method)
    return named


def _name(method: Any) -> str:
    if not isinstance(method, Choice):
        raise ProblemError(
            f'{shown(method)} is no method; expected a name such as "cpo" or "appropo:ppo", or ap.Lagrangian(ki=20)'
        )
    return f"appropo:{method.name}" if method.kind == "oracle" else method.name


def _settings(method: Any) -> dict[str, Any]:
    if isinstance(method, Mapping):
        return dict(method)
    if isinstance(method, str):
        name, _, oracle = method.partition(":")
        return {"method": name, "oracle": oracle} if oracle else {"method": name}
    _name(method)
    return {method.kind: method}


def _seeds(seeds: Any) -> list[int]:
    if not isinstance(seeds, Iterable):
        return list(range(whole("seeds", seeds)))
    listed = [whole("seed", seed, least=0) for seed in seeds]
    if not listed:
        raise ProblemError("seeds is empty; expected one or more")
    return listed


def _objective(maximize: Any, minimize: Any) -> tuple[Any, bool] | None:
    if maximize is not None and minimize is not None:
        raise ProblemError("maximize and minimize are both given; leave one of them out")
    if maximize is None and minimize is None:
        return None
    return (objective(minimize), False) if maximize is None else (objective(maximize), True)


def _at_least_a_second(seconds: Any) -> float:
    found = number("expire_after", seconds)
    if found < 1:
        raise ProblemError(f"expire_after is {shown(seconds)}; expected 1 second or more")
    return found
