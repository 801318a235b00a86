"""Solving: the search for a mixed policy that satisfies every constraint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _appropo
from ._appropo import Outcome, ProblemError
from ._appropo import Problem as _Problem
from .arguments import number, place
from .linear import Linear
from .measures import Measure
from .notebook import LiveView
from .problem import Problem
from .progress import Progress
from .result import Result, asked_of
from .utilities import Utility, objective
from .workers import Processes, Ray, opened, stated, streams, tell_who_learns

#: Arguments of a solve that are no settings.
WATCHED = ("run", "callback", "progress", "checkpoint_every", "workers")

#: Called after every round; returning False ends the run.
Callback = Callable[[dict[str, Any]], Any]


def solve(
    problem: Problem | str | Path,
    *,
    method: Any = None,
    oracle: Any = None,
    player: Any = None,
    samples: int | None = None,
    evaluation_samples: int | None = None,
    rounds: int | None = None,
    tolerance: float | None = None,
    seed: int | None = None,
    run: str | Path | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint_every: float = 60.0,
    workers: int | Processes | Ray | None = None,
    **settings: Any,
) -> Result:
    """Learns a mixed policy whose long-term measurements satisfy every constraint, or shows that there is none.

    ``oracle`` is "exact" (planning, the default where the model is known), "model" (planning in a model learnt by
    playing), "universal" (one network for every λ), "ppo" (the default elsewhere), "a2c" or "q-learning"; with
    options it is ``ap.PPO(learning_rate=3e-4)`` and so on; or it is an object as in :mod:`appropo.oracles`.
    ``player`` is "fully-corrective", "ogd", "momentum", "blackwell", "hedge", "projection" or "frank-wolfe", or
    ``ap.OGD(eta=0.1)`` and so on. ``method`` is ApproPO unless it is "occupancy", "apprenticeship", "lagrangian",
    "rcpo", "cpo", "last-iterate", "state-augmented", "maxent" or "batch", or ``ap.Lagrangian(ki=20)`` and so on.
    ``run`` keeps the run in a folder while it goes on, where ``appropo watch`` follows it; without it nothing is
    written. ``evaluation_samples`` are
    the steps after which fresh episodes of the result decide no more, by default a quarter of ``samples``.
    ``settings`` are the other keys of the table [solve] of a problem file.
    ``workers`` play an environment of Python's in other processes: a number of them, :class:`Processes` or
    :class:`Ray`. Learners then play in ``num_envs`` streams of episodes, 8 unless it is given, and the result is the
    same on any number of workers, and on none with the same ``num_envs``.

    Ctrl-C ends the run at the next step and returns what there is, with ``stopped`` set.
    """
    if not isinstance(problem, Problem):
        problem = Problem.load(problem)
    named = {"method": method, "oracle": oracle, "player": player, "samples": samples, "rounds": rounds}
    return _solve(
        problem,
        problem._core,
        {**settings, **named, "tolerance": tolerance, "evaluation_samples": evaluation_samples, "seed": seed},
        run=run,
        callback=callback,
        progress=progress,
        checkpoint_every=checkpoint_every,
        workers=workers,
    )


def _solve(
    problem: Problem,
    core: _Problem,
    settings: dict[str, Any],
    *,
    run: str | Path | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint_every: float = 60.0,
    workers: int | Processes | Ray | None = None,
) -> Result:
    """Solves ``core``, which is the problem's or that with an objective."""
    there = stated(workers)
    if there is not None:
        settings = {**settings, "num_envs": streams(there, settings.get("num_envs"))}
    plan, asked = problem._plan(core, settings)
    if there is not None:
        tell_who_learns(core.resolved(plan))
    folder = None if run is None else place("run", run)
    every, shown = _watching(callback, progress, checkpoint_every)
    observe, part = _both(callback, shown), None if shown is None else shown.part
    with opened(there, problem._recipe) as pool:
        found, stopped = _watched(shown, lambda: _appropo.solve(core, plan, folder, every, observe, part, pool))
    return Result(problem, plan, found, asked, core=core, folder=folder, stopped=stopped)


def resume(
    folder: str | Path,
    problem: Problem | None = None,
    oracle: Any = None,
    *,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint_every: float = 60.0,
    workers: int | Processes | Ray | None = None,
) -> Result:
    """Goes on with a run that was killed, from its last checkpoint, to the result that it would have had.

    ``problem``, the one that was solved, is needed where its world or sets are Python's, and ``oracle`` where that is.
    An environment must do the same again from the same seed to come to where it was; runs in vector environments and
    with oracles of Python's start again from the beginning. ``workers`` are as for :func:`solve`, and may be others
    than before, or none.
    """
    there = stated(workers)
    path, asked = place("folder", folder), asked_of(oracle, problem)
    core = _Problem.of_run(path, None if problem is None else problem._core, asked)
    if core.missing is not None:
        raise ProblemError(f"{core.missing} is Python's and not here; pass the problem: ap.resume(folder, problem)")
    plan = core.plan({}, asked)
    every, shown = _watching(callback, progress, checkpoint_every)
    observe, part = _both(callback, shown), None if shown is None else shown.part
    held = Problem._of(core) if problem is None else problem
    with opened(there, held._recipe) as pool:
        found, stopped = _watched(shown, lambda: _appropo.resume(core, plan, path, every, observe, asked, part, pool))
    return Result(held, plan, found, asked, core=core, folder=path, stopped=stopped)


def _watching(
    callback: Callback | None, progress: bool | None, checkpoint_every: float
) -> tuple[float, Progress | LiveView | None]:
    if callback is not None and not callable(callback):
        raise ProblemError(f"callback is {callback!r}; expected a function of a round")
    return number("checkpoint_every", checkpoint_every), Progress.wanted(progress)


def _watched(shown: Progress | LiveView | None, solve: Callable[[], tuple[Outcome, bool]]) -> tuple[Outcome, bool]:
    """Solves, and takes the line of progress away in the end."""
    try:
        return solve()
    finally:
        if shown is not None:
            shown.close()


def _both(callback: Callback | None, progress: Progress | LiveView | None) -> Callback | None:
    if progress is None or callback is None:
        return callback or progress

    def observe(line: dict[str, Any]) -> Any:
        progress(line)
        return callback(line)

    return observe


def maximize(problem: Problem | str | Path, measure: str | Measure | Linear | Utility, **settings: Any) -> Result:
    """The largest value of a measure, or of a concave function of measures, subject to the constraints.

    ``measure`` is a name or a :func:`measure`, an entry of one (``"visits[3]"``, ``ap.measure("visits")[3]``), an
    :func:`entropy`, a :func:`smooth_minimum`, or a weighted sum of those.
    ``settings`` are those of :func:`solve`: ``method``, ``oracle``, ``samples``, ``run`` and so on, and ``search``
    ("master" or "binary"). Returns a :class:`Result` with ``value``. Where the model is known and the oracle plans,
    ``bound`` is proved: no feasible policy has more. Where it learns, ``interval`` says where fresh episodes put the
    value, and that nothing better was found within the samples is all that is known.

    >>> round(maximize("mars-rover", "reward").value, 6)
    -0.111005
    """
    return _optimum(problem, measure, True, settings)


def minimize(problem: Problem | str | Path, measure: str | Measure | Linear | Utility, **settings: Any) -> Result:
    """The least value of a measure, or of a convex function of measures, subject to the constraints.

    ``measure`` is as for :func:`maximize`, but for :func:`squared_distance` in the place of concave functions; so are
    ``settings`` and the :class:`Result`.

    >>> round(minimize("mars-rover", "failure").value, 3)
    0.022
    """
    return _optimum(problem, measure, False, settings)


def _optimum(
    problem: Problem | str | Path, measure: str | Measure | Linear | Utility, is_maximum: bool, settings: dict[str, Any]
) -> Result:
    if not isinstance(problem, Problem):
        problem = Problem.load(problem)
    core = problem._core.with_objective(objective(measure), is_maximum)
    watched = {key: settings.pop(key) for key in WATCHED if key in settings}
    return _solve(problem, core, settings, **watched)
