"""Solving: the search for a mixed policy that satisfies every constraint."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._appropo import ProblemError, Session
from .arguments import number, place, whole
from .linear import Linear
from .measures import Measure, objective
from .oracles import Asked
from .problem import Problem
from .progress import Progress
from .result import Optimum, Result, asked_of, session_of, temporary_folder

#: Called after every round; returning False ends the run.
Callback = Callable[[dict[str, Any]], Any]


def solve(
    problem: Problem | str | Path,
    *,
    oracle: Any = None,
    player: str | None = None,
    samples: int | None = None,
    rounds: int | None = None,
    tolerance: float | None = None,
    seed: int | None = None,
    run: str | Path | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint_every: float = 60.0,
    **settings: Any,
) -> Result:
    """Learns a mixed policy whose long-term measurements satisfy every constraint, or shows that there is none.

    ``oracle`` is "exact" (planning, the default where the model is known), "model" (planning in a model learnt by
    playing), "ppo" (the default elsewhere), "a2c" or "q-learning", or an object as in :mod:`appropo.oracles`.
    ``player`` is "fully-corrective", "ogd", "momentum" or "blackwell". ``run`` keeps the run's files in a folder;
    without it they go with the result. ``settings`` are the other keys of the table [solve] of a problem file.

    Ctrl-C ends the run at the next step and returns what there is, with ``stopped`` set.
    """
    if not isinstance(problem, Problem):
        problem = Problem.load(problem)
    asked = None if oracle is None or isinstance(oracle, str) else Asked(oracle, problem)
    named = {"oracle": "outside" if asked is not None else oracle, "player": player, "tolerance": tolerance}
    counts = {"samples": samples, "rounds": rounds, "seed": seed}
    named |= {key: whole(key, value, least=0) for key, value in counts.items() if value is not None}
    session = problem._session({**settings, **named}, asked)
    folder = temporary_folder() if run is None else place("run", run)
    try:
        stopped = _watched(session, folder, False, callback, progress, checkpoint_every)
    except BaseException:
        if run is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return Result(folder, problem, asked, is_temporary=run is None, stopped=stopped)


def resume(
    folder: str | Path,
    problem: Problem | None = None,
    oracle: Any = None,
    *,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint_every: float = 60.0,
) -> Result:
    """Goes on with a run that was killed, from its last checkpoint, to the result that it would have had.

    ``problem``, the one that was solved, is needed where its world or sets are Python's, and ``oracle`` where that is.
    An environment must do the same again from the same seed to come to where it was; runs in vector environments and
    with oracles of Python's start again from the beginning.
    """
    path, asked = place("folder", folder), asked_of(oracle, problem)
    session = session_of(path, problem, asked)
    stopped = _watched(session, path, True, callback, progress, checkpoint_every)
    return Result(path, problem, asked, stopped=stopped)


def _watched(
    session: Session,
    folder: Path,
    resume: bool,
    callback: Callback | None,
    progress: bool | None,
    checkpoint_every: float,
) -> bool:
    """Solves, and says whether Ctrl-C ended it."""
    if callback is not None and not callable(callback):
        raise ProblemError(f"callback is {callback!r}; expected a function of a round")
    every = number("checkpoint_every", checkpoint_every)
    shown = Progress.wanted(progress)
    try:
        stopped = session.solve(folder, resume, every, _both(callback, shown))
    finally:
        if shown is not None:
            shown.close()
    if stopped and not (folder / "result.json").is_file():
        # Nothing was found yet.
        raise KeyboardInterrupt
    return stopped


def _both(callback: Callback | None, progress: Progress | None) -> Callback | None:
    if progress is None or callback is None:
        return callback or progress

    def observe(line: dict[str, Any]) -> Any:
        progress(line)
        return callback(line)

    return observe


def maximize(problem: Problem | str | Path, measure: str | Measure | Linear, **settings: Any) -> Optimum:
    """The largest value of a measure subject to the constraints, in a world whose model is known.

    ``measure`` is a name or a :func:`measure`, or an entry of one: ``"visits[3]"``, ``ap.measure("visits")[3]``.
    ``settings`` are keys of the table [solve] of a problem file: ``tolerance`` (1e-6), ``rounds`` (1,000), ``method``
    ("appropo" or "occupancy") and ``planner`` ("policy-iteration" or "value-iteration"). Returns an
    :class:`Optimum` with the value, a bound that is proved, the verdict on the constraints, the measurements and the
    mixed policy.

    >>> round(maximize("mars-rover", "reward").value, 6)
    -0.111005
    """
    return _optimum(problem, measure, 1.0, settings)


def minimize(problem: Problem | str | Path, measure: str | Measure | Linear, **settings: Any) -> Optimum:
    """The least value of a measure subject to the constraints, in a world whose model is known.

    ``measure`` and ``settings`` are those of :func:`maximize`: ``tolerance``, ``rounds``, ``method`` and ``planner``.
    Returns an :class:`Optimum` with the value, a bound that is proved, the verdict on the constraints, the measurements
    and the mixed policy.

    >>> round(minimize("mars-rover", "failure").value, 3)
    0.022
    """
    return _optimum(problem, measure, -1.0, settings)


def _optimum(
    problem: Problem | str | Path, measure: str | Measure | Linear, sign: float, settings: dict[str, Any]
) -> Optimum:
    if not isinstance(problem, Problem):
        problem = Problem.load(problem)
    return Optimum(*problem._session(settings).optimize(objective(measure), sign), problem._shape)
