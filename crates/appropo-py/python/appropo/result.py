"""Results: what a run found, what it rests on, and how it went. Everything is read from the run's files."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._appropo import Policy, ProblemError, RunError, Session
from .arguments import counted, place, shown, whole
from .oracles import Asked
from .policy import MixedPolicy, Shape
from .shared import Shared

if TYPE_CHECKING:
    from .problem import Problem


#: What a file of results must have.
MEMBERS = (
    "verdict",
    "distance",
    "lower_bound",
    "confidence",
    "measurements",
    "constraints",
    "samples",
    "oracle_calls",
    "evaluation",
    "failure",
)
#: What is shown of each constraint.
HEAD = ("constraint", "measure", "value", "required", "slack", "")
_AGAIN = "restore it from a copy, or start the run again in another folder"


class Result(Shared):
    """A run: the verdict with its evidence, the mixed policy, and the rounds that led there."""

    _instead = "save it with result.save(folder), and read it with ap.load(folder)"

    def __init__(
        self,
        folder: Path,
        problem: Problem | None,
        asked: Asked | None = None,
        *,
        is_temporary: bool = False,
        stopped: bool = False,
    ) -> None:
        self.folder = folder
        self._problem = problem
        self._asked = asked
        self._found = _read(folder / "result.json", *MEMBERS)
        #: Whether Ctrl-C ended it.
        self.stopped = stopped or self._found["failure"] == "stopped on request"
        if is_temporary:
            weakref.finalize(self, _remove, folder, os.getpid())

    @property
    def _session(self) -> Session:
        # Made when it is needed: what it holds of Python's can't be collected while it lives.
        return session_of(self.folder, self._problem, self._asked)

    @property
    def verdict(self) -> str:
        """ "feasible", "infeasible" or "undecided"."""
        return str(self._found["verdict"])

    @property
    def distance(self) -> float:
        """The distance of the measurements from the target set."""
        return _float(self._found["distance"])

    @property
    def lower_bound(self) -> float:
        """No policy comes closer to the target set than this."""
        return _float(self._found["lower_bound"])

    @property
    def confidence(self) -> float | None:
        """The level of the verdict where it rests on fresh episodes; None where it is exact."""
        level = self._found["confidence"]
        return None if level is None else float(level)

    @property
    def measurements(self) -> dict[str, Any]:
        """The long-term value of every measure; NaN where a run that was broken off had not measured it."""
        return _arrays(self._found["measurements"])

    @property
    def constraints(self) -> list[dict[str, Any]]:
        """Each constraint's name, whether it holds, and its distance."""
        return list(self._found["constraints"])

    @property
    def samples(self) -> int:
        """Steps taken in the environment to learn."""
        return int(self._found["samples"])

    @property
    def oracle_calls(self) -> int:
        """Rounds played."""
        return int(self._found["oracle_calls"])

    @property
    def evaluation(self) -> dict[str, Any] | None:
        """What fresh episodes said, where the policy was learnt."""
        found: dict[str, Any] | None = self._found["evaluation"]
        return found

    @property
    def failure(self) -> str | None:
        """What went wrong on the way, if anything did."""
        failure: str | None = self._found["failure"]
        return failure

    @property
    def certificate(self) -> dict[str, Any]:
        """The claim with all that is needed to check it again."""
        found = _read(self.folder / "certificate.json")
        return {key: value for key, value in found.items() if key not in ("format", "sha256")}

    @property
    def history(self) -> dict[str, NDArray[Any]]:
        """The rounds, one array a column: ``pandas.DataFrame(result.history)``."""
        columns: dict[str, list[Any]] = {}
        path = self.folder / "rounds.jsonl"
        for number, line in enumerate(_text(path).splitlines(), start=1):
            for key, value in _object(f"{path}, line {number}", line).items():
                if isinstance(value, dict):
                    block = "lam" if key == "lambda" else key
                    for name, entry in value.items():
                        columns.setdefault(f"{block}/{name}", []).append(entry)
                else:
                    columns.setdefault(key, []).append(value)
        if not columns:
            raise RunError(f"{path} has no rounds; {_AGAIN}")
        return {name: np.asarray(values) for name, values in columns.items()}

    @cached_property
    def policy(self) -> MixedPolicy:
        """The mixed policy, to act with."""
        return MixedPolicy(self._session.policy(self.folder), None if self._problem is None else self._problem._shape)

    def evaluate(self, episodes: int = 1000, seed: int = 1) -> dict[str, Any]:
        """Plays fresh episodes: mean, standard error and confidence interval of every measure."""
        episodes, seed = whole("episodes", episodes, least=2), whole("seed", seed, least=0)
        found: dict[str, Any] = json.loads(self._session.evaluate(str(self.folder), episodes, seed))
        return {row.pop("measure"): row for row in found["measurements"]}

    def verify(self, seed: int | None = None) -> str:
        """Computes the claim again from the files and says what was checked. Raises RunError if it does not hold."""
        seed = None if seed is None else whole("seed", seed, least=0)
        said, holds = self._session.verify(str(self.folder), seed)
        if not holds:
            raise RunError(said)
        return said

    def save(self, folder: str | Path) -> Path:
        """Copies the run into a folder that is not there yet, or empty."""
        path = place("folder", folder)
        _text(self.folder / "result.json")
        with _writing(path):
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise RunError(f"{path} is not empty; choose another folder")
            shutil.copytree(self.folder, path, dirs_exist_ok=True)
        return path

    def report(self, file: str | Path) -> Path:
        """Writes the report, one page that needs nothing else."""
        return _write(file, self._session.report([str(self.folder)]))

    def plot(self) -> Any:
        """A matplotlib figure of how the run went. Needs the extra ``appropo[plot]``."""
        from .plot import course

        return course(self)

    def export(self, file: str | Path) -> str:
        """Writes the networks as ONNX files, with the mixture's weights beside them."""
        return self._session.export(str(self.folder), str(place("file", file))).strip()

    def _table(self) -> tuple[list[tuple[str, ...]], str]:
        """The constraints, as the command line shows them, and why nothing was decided, where nothing was."""
        try:
            rows, remarks = self._session.table(self.folder)
        except Exception:
            # What is required stands in the problem, which may not be here, or whose own functions may fail.
            ends = {True: "holds", False: "violated"}
            rows, remarks = [[row["name"], *["unknown"] * 4, ends[row["holds"]]] for row in self.constraints], []
        shown = [tuple("unknown" if cell == "NaN" else cell for cell in row) for row in rows]
        if self.stopped or self.failure is not None:
            remarks = ["stopped by Ctrl-C" if self.stopped else str(self.failure)]
        why = "; ".join(remarks) if self.verdict == "undecided" else ""
        return [HEAD, *shown], why

    def _repr_html_(self) -> str:
        rows, why = self._table()
        table = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table>{table}</table>{escape(why)}<br>{escape(repr(self))}"

    def __str__(self) -> str:
        rows, why = self._table()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *([why] if why else []), repr(self)])

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f" at level {self.confidence}"
        bound = f", at least {self.lower_bound:.3g}" if self.lower_bound > 0 else ""
        return (
            f"<Result: {self.verdict}{sure}, distance {self.distance:.3g}{bound}; "
            f"{counted(self.oracle_calls, 'round')}, {counted(self.samples, 'sample')}>"
        )


class Optimum:
    """The best value of a measure subject to the constraints."""

    def __init__(self, text: str, policy: Policy, shape: Shape | None = None) -> None:
        self._found: dict[str, Any] = json.loads(text)
        #: The mixed policy that attains it.
        self.policy = MixedPolicy(policy, shape)

    @property
    def value(self) -> float | None:
        """The value; None where no feasible policy was found."""
        value: float | None = self._found["objective"]["value"]
        return value

    @property
    def bound(self) -> float | None:
        """No feasible policy does better than this; None where that is not known."""
        bound: float | None = self._found["objective"]["bound"]
        return bound

    @property
    def verdict(self) -> str:
        """Whether the constraints can be satisfied."""
        return str(self._found["verdict"])

    @property
    def measurements(self) -> dict[str, Any]:
        """The long-term value of every measure."""
        return _arrays(self._found["measurements"])

    def __repr__(self) -> str:
        return f"<Optimum: {self.value}, bound {self.bound}; {self.verdict}>"


def load(folder: str | Path, problem: Problem | None = None, oracle: Any = None) -> Result:
    """A run that was saved.

    Where its world or sets are Python's, ``problem`` is needed to play or judge it again; where its policies are, so is
    the ``oracle`` that found them.
    """
    return Result(place("folder", folder), problem, asked_of(oracle, problem))


def compare(*results: Result, file: str | Path) -> Path:
    """Writes a page that compares runs."""
    if not results:
        raise ProblemError("compare() needs at least one result")
    for result in results:
        if not isinstance(result, Result):
            raise ProblemError(
                f"{shown(result)} is no result; pass the results one by one, as in compare(a, b, file=...)"
            )
    return _write(file, results[0]._session.report([str(result.folder) for result in results]))


def asked_of(oracle: Any, problem: Problem | None) -> Asked | None:
    """The oracle of a run that is loaded or gone on with."""
    if problem is not None and not hasattr(problem, "_session"):
        raise ProblemError(f"problem is {shown(problem)}; expected the ap.Problem that was solved")
    if oracle is not None and problem is None:
        raise ProblemError("an oracle acts in the world of a problem; pass problem= as well")
    return None if oracle is None or problem is None else Asked(oracle, problem)


def session_of(folder: Path, problem: Problem | None, asked: Asked | None) -> Session:
    """What a run is played and judged by."""
    if problem is not None:
        return problem._session({}, asked)
    name, path = _read(folder / "run.json", "problem")["problem"], folder / "problem.toml"
    try:
        return Session(str(name), _text(path))
    except ProblemError as error:
        raise RunError(
            f"{path}: {error}; load the run with its problem, ap.load(folder, problem), or restore the file"
        ) from error


def _remove(folder: Path, owner: int) -> None:
    # A process that was forked off has a copy of the result, but the folder is not its own.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def temporary_folder() -> Path:
    """A new folder for a run that is not kept."""
    return Path(tempfile.mkdtemp(prefix="appropo-"))


def _read(path: Path, *members: str) -> dict[str, Any]:
    found = _object(str(path), _text(path))
    for member in members:
        if member not in found:
            raise RunError(f'{path} has no "{member}"; {_AGAIN}')
    return found


def _object(where: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise RunError(f"{where} is no JSON ({error}); {_AGAIN}") from error
    if not isinstance(found, dict):
        raise RunError(f"{where} is {shown(found)}; expected an object; {_AGAIN}")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"{path.parent} holds no run that has ended: {path.name} can't be read ({error.strerror}); name another "
            "folder, or go on with it by ap.resume if it was killed"
        ) from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is no text ({error}); {_AGAIN}") from error


def _float(found: float | None) -> float:
    # JSON has no NaN.
    return float("nan") if found is None else float(found)


def _arrays(found: dict[str, Any]) -> dict[str, Any]:
    return {
        name: np.asarray(value, dtype=np.float64) if isinstance(value, list) else _float(value)
        for name, value in found.items()
    }


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
