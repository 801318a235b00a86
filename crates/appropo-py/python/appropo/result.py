"""Results: what a solve found, what it rests on, and how it went."""

from __future__ import annotations

import shutil
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from html import escape
from math import isnan
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from . import _appropo
from ._appropo import Outcome, Plan, ProblemError, RunError, report
from ._appropo import Problem as _Problem
from .arguments import counted, place, shown, whole
from .notebook import frame, is_notebook
from .oracles import Asked
from .policy import MixedPolicy
from .shared import Shared

if TYPE_CHECKING:
    from .problem import Problem


#: What is shown of each constraint.
HEAD = ("constraint", "measure", "value", "required", "slack", "")


class Result(Shared):
    """What came out of a solve: the verdict with its evidence, the mixed policy, and the rounds that led there."""

    _instead = "save it with result.save(folder), and read it with ap.load(folder)"

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        outcome: Outcome,
        asked: Asked | None = None,
        *,
        core: _Problem | None = None,
        folder: Path | None = None,
        stopped: bool = False,
    ) -> None:
        #: Where the run is kept; None where it is not.
        self.folder = folder
        self._problem, self._plan, self._outcome, self._asked = problem, plan, outcome, asked
        self._core = problem._core if core is None else core
        #: Whether Ctrl-C, or a request to its folder, ended it.
        self.stopped = stopped or outcome.failure == "stopped on request"

    @property
    def verdict(self) -> str:
        """ "feasible", "infeasible" or "undecided"."""
        return self._outcome.verdict

    @property
    def distance(self) -> float:
        """The distance of the measurements from the target set."""
        return self._outcome.distance

    @property
    def lower_bound(self) -> float:
        """No policy comes closer to the target set than this."""
        return self._outcome.lower_bound

    @property
    def confidence(self) -> float | None:
        """The level of the verdict where it rests on fresh episodes; None where it is exact."""
        return self._outcome.confidence

    @property
    def value(self) -> float | None:
        """The best value of the objective; None where there is none, or no feasible policy was found."""
        return self._outcome.objective[0]

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where fresh episodes put the value, with the verdict's level; None where it is exact."""
        return self._outcome.objective[1]

    @property
    def bound(self) -> float | None:
        """No feasible policy has a better value than this; None where that is not known, as where it was learnt."""
        return self._outcome.objective[2]

    @property
    def prices(self) -> dict[str, float]:
        """What loosening each constraint by one unit is worth of the objective, by the constraint's name.

        It is at most that however much is loosened, and just that for small changes, unless the optimum is at a kink.
        Empty where the optimum is not proved.
        """
        return {name: price for name, _, price in self._outcome.prices(self._core)}

    @property
    def nearest(self) -> dict[str, float] | None:
        """Where nothing is feasible, what the policy has that comes closest; None otherwise."""
        found = self._outcome.nearest(self._core)
        return None if found is None else dict(found)

    @property
    def measurements(self) -> dict[str, Any]:
        """The long-term value of every measure; NaN where a run that was broken off had not measured it."""
        return self._outcome.measurements(self._core)

    @property
    def constraints(self) -> list[dict[str, Any]]:
        """Each constraint's name, whether it holds, and its distance; None and NaN where its set is not here."""
        rows = self._outcome.rows(self._core)
        return [{"name": row[0], "holds": None if isnan(row[6]) else row[5], "distance": row[6]} for row in rows]

    @property
    def samples(self) -> int:
        """Steps taken in the environment to learn."""
        return self._outcome.samples

    @property
    def oracle_calls(self) -> int:
        """Rounds played."""
        return self._outcome.rounds

    @property
    def evaluation(self) -> dict[str, Any] | None:
        """What fresh episodes said, where the policy was learnt."""
        return self._outcome.evaluation

    @property
    def logged(self) -> dict[str, Any] | None:
        """What logs say of the policy, where it was learnt from logs: value, lower and upper end of every measure.

        Its "assumptions" can't be checked from logs, and no verdict rests on it.
        """
        return self._outcome.logged(self._core)

    @property
    def failure(self) -> str | None:
        """What went wrong on the way, if anything did."""
        return self._outcome.failure

    @property
    def reason(self) -> str:
        """Why the search ended."""
        return self._outcome.reason

    @property
    def certificate(self) -> dict[str, Any]:
        """The claim with all that is needed to check it again."""
        return self._outcome.certificate

    @property
    def history(self) -> dict[str, NDArray[Any]]:
        """The rounds, one array a column: ``pandas.DataFrame(result.history)``."""
        return self._outcome.history

    @cached_property
    def policy(self) -> MixedPolicy:
        """The mixed policy, to act with."""
        return MixedPolicy(self._outcome.policy(self._core), self._problem._shape)

    def evaluate(self, episodes: int = 1000, seed: int = 1) -> dict[str, Any]:
        """Plays fresh episodes: mean, standard error and confidence interval of every measure."""
        episodes, seed = whole("episodes", episodes, least=2), whole("seed", seed, least=0)
        rows = self._outcome.evaluate(self._core, episodes, seed)
        parts = ("mean", "standard_error", "low", "high")
        return {name: dict(zip(parts, numbers, strict=True)) for name, *numbers in rows}

    def distil(
        self,
        *,
        policy: str | None = None,
        net_arch: Sequence[int] | None = None,
        samples: int | None = None,
        evaluation_samples: int | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> Result:
        """One policy in place of the mixture, evaluated afresh.

        Where the model is known and the mixture's policies are tables, it is a table with the same measurements. Else,
        or with ``policy="network"`` or a ``net_arch``, it is a network that learns the actions of the mixture's
        episodes: ``samples`` steps of them, by default as many as the solve might take, at most 100,000. Further
        options are ``learning_rate``, ``batch_size`` and ``n_epochs``.
        """
        given = {"policy": policy, "net_arch": None if net_arch is None else list(net_arch), **options}
        settings: dict[str, Any] = {
            "samples": None if samples is None else whole("samples", samples, least=1),
            "evaluation_samples": None
            if evaluation_samples is None
            else whole("evaluation_samples", evaluation_samples, least=1),
            "seed": None if seed is None else whole("seed", seed, least=0),
            "distil": {key: value for key, value in given.items() if value is not None},
        }
        settings = {key: value for key, value in settings.items() if value is not None}
        if self._core.missing is not None:
            raise RunError(f"{self._core.missing} is Python's and not here; load the run with ap.load(folder, problem)")
        plan = self._outcome.distilling(self._core, self._plan, settings)
        outcome, stopped = _appropo.solve(self._core, plan)
        return Result(self._problem, plan, outcome, self._asked, core=self._core, stopped=stopped)

    def verify(self, seed: int | None = None) -> str:
        """Computes the claim again, from the run's files where there are any, and says what was checked.

        Raises RunError if it does not hold.
        """
        seed = None if seed is None else whole("seed", seed, least=0)
        if self._core.missing is not None:
            raise RunError(f"{self._core.missing} is Python's and not here; load the run with ap.load(folder, problem)")
        self._outcome.must_act()
        if self.folder is None:
            said, holds = self._outcome.verify(self._core, self._plan, 1 if seed is None else seed)
        else:
            # The problem is a part of the claim, so it is read again as well.
            core = _Problem.of_run(self.folder, self._problem._core, self._asked)
            said, holds = _appropo.verify(core, core.plan({}, self._asked), self.folder, seed, self._asked)
        if not holds:
            raise RunError(said)
        return said

    def save(self, folder: str | Path) -> Path:
        """Writes the run into a folder that is not there yet, or empty."""
        path = place("folder", folder)
        if self.folder is not None and (self.folder / "result.json").is_file():
            with _writing(path):
                if path.exists() and (not path.is_dir() or any(path.iterdir())):
                    raise RunError(f"{path} is not empty; choose another folder")
                shutil.copytree(self.folder, path, dirs_exist_ok=True)
        else:
            self._outcome.save(self._core, self._plan, path)
        return path

    def report(self, file: str | Path) -> Path:
        """Writes the report, one page that needs nothing else."""
        return _write(file, report([self._shown(None)]))

    def show(self, *, height: int = 640) -> None:
        """Shows the report: in a notebook below the cell, elsewhere in the browser."""
        height, page = whole("height", height, least=100), report([self._shown(None)])
        if is_notebook():
            from IPython.display import HTML, display

            display(HTML(frame(page, height)))
            return
        with NamedTemporaryFile("w", prefix="appropo-", suffix=".html", encoding="utf-8", delete=False) as file:
            file.write(page)
        webbrowser.open(Path(file.name).as_uri())

    def _shown(self, name: str | None) -> tuple[Outcome, _Problem, Plan, str | None]:
        return self._outcome, self._core, self._plan, name

    def plot(self) -> Any:
        """A matplotlib figure of how the run went. Needs the extra ``appropo[plot]``."""
        from .plot import course

        return course(self)

    def export(self, file: str | Path) -> Path:
        """Writes the networks as ONNX files; returns the path of the file with their weights."""
        return Path(self._outcome.export(self._core, place("file", file)))

    def _table(self) -> tuple[list[tuple[str, ...]], str]:
        """The constraints, as the command line shows them, and why nothing was decided, where nothing was."""
        rows = [(*row[:5], _judged(row[5], row[6])) for row in self._outcome.rows(self._core)]
        shown = [tuple("unknown" if cell == "NaN" else cell for cell in row) for row in rows]
        if self.stopped or self.failure is not None:
            remarks = ["stopped on request" if self.stopped else str(self.failure)]
        else:
            remarks = [remark for remark in (self._outcome.evidence, self._outcome.reason) if remark]
        why = "; ".join(remarks) if self.verdict == "undecided" else ""
        return [HEAD, *shown], why

    def _repr_html_(self) -> str:
        rows, why = self._table()
        table = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        why = "; ".join(remark for remark in (self._outcome.optimum, why) if remark)
        return f"<table>{table}</table>{escape(why)}<br>{escape(repr(self))}"

    def __str__(self) -> str:
        rows, why = self._table()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        advice = self._outcome.advice(self._core)
        remarks = [remark for remark in (self._outcome.optimum, *advice, why) if remark]
        return "\n".join([*lines, *remarks, repr(self)])

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f" at level {self.confidence}"
        bound = f", at least {self.lower_bound:.3g}" if self.lower_bound > 0 else ""
        value = "" if self.value is None else f", value {self.value:.6g}"
        return (
            f"<Result: {self.verdict}{sure}{value}, distance {round(self.distance, 12):.3g}{bound}; "
            f"{counted(self.oracle_calls, 'round')}, {counted(self.samples, 'sample')}>"
        )


def load(folder: str | Path, problem: Problem | None = None, oracle: Any = None) -> Result:
    """A run that was saved.

    Where its world or sets are Python's, ``problem`` is needed to play or judge it again, and constraints are unknown
    without it; where its policies are, so is the ``oracle`` that found them.
    """
    from .problem import Problem

    path, asked = place("folder", folder), asked_of(oracle, problem)
    core = _Problem.of_run(path, None if problem is None else problem._core, asked)
    held = Problem._of(core) if problem is None else problem
    return Result(held, core.plan({}, asked), _appropo.outcome(core, path, asked), asked, core=core, folder=path)


def compare(*results: Result, file: str | Path) -> Path:
    """Writes a page that compares runs."""
    if not results:
        raise ProblemError("compare() needs at least one result")
    for result in results:
        if not isinstance(result, Result):
            raise ProblemError(
                f"{shown(result)} is no result; pass the results one by one, as in compare(a, b, file=...)"
            )
    names = [f"{result._core.name} ({result.folder or number})" for number, result in enumerate(results, start=1)]
    several = names if len(results) > 1 else [None]
    return _write(file, report([result._shown(name) for result, name in zip(results, several, strict=True)]))


def _judged(holds: bool, distance: float) -> str:
    """Whether a constraint holds, in a word."""
    if isnan(distance):
        return "unknown"
    return "holds" if holds else "violated"


def asked_of(oracle: Any, problem: Problem | None) -> Asked | None:
    """The oracle of a run that is loaded or gone on with."""
    if problem is not None and not hasattr(problem, "_core"):
        raise ProblemError(f"problem is {shown(problem)}; expected the ap.Problem that was solved")
    if oracle is not None and problem is None:
        raise ProblemError("an oracle acts in the world of a problem; pass problem= as well")
    return None if oracle is None or problem is None else Asked(oracle, problem)


def _write(file: str | Path, text: str) -> Path:
    path = place("file", file)
    with _writing(path):
        path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or f"{len(error.args[0])} files could not be copied"
        raise RunError(f"{path} can't be written: {reason}; choose another place") from error
