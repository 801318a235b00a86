"""Results: what a run found, what it rests on, and how it went. Everything is read from the run's files."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._appropo import Policy, ProblemError, RunError, Session
from .oracles import Asked
from .policy import MixedPolicy, Shape

if TYPE_CHECKING:
    from .problem import Problem


class Result:
    """A run: the verdict with its evidence, the mixed policy, and the rounds that led there."""

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
        self._found = _read(folder / "result.json")
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
        return float(self._found["distance"])

    @property
    def lower_bound(self) -> float:
        """No policy comes closer to the target set than this."""
        return float(self._found["lower_bound"])

    @property
    def confidence(self) -> float | None:
        """The level of the verdict where it rests on fresh episodes; None where it is exact."""
        level = self._found["confidence"]
        return None if level is None else float(level)

    @property
    def measurements(self) -> dict[str, Any]:
        """The long-term value of every measure."""
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
        with open(self.folder / "rounds.jsonl", encoding="utf-8") as file:
            for line in file:
                for key, value in json.loads(line).items():
                    if isinstance(value, dict):
                        block = "lam" if key == "lambda" else key
                        for name, number in value.items():
                            columns.setdefault(f"{block}/{name}", []).append(number)
                    else:
                        columns.setdefault(key, []).append(value)
        return {name: np.asarray(values) for name, values in columns.items()}

    @cached_property
    def policy(self) -> MixedPolicy:
        """The mixed policy, to act with."""
        return MixedPolicy(self._session.policy(self.folder), None if self._problem is None else self._problem._shape)

    def evaluate(self, episodes: int = 1000, seed: int = 1) -> dict[str, Any]:
        """Plays fresh episodes: mean, standard error and confidence interval of every measure."""
        found: dict[str, Any] = json.loads(self._session.evaluate(str(self.folder), episodes, seed))
        return {row.pop("measure"): row for row in found["measurements"]}

    def verify(self, seed: int | None = None) -> str:
        """Computes the claim again from the files and says what was checked. Raises RunError if it does not hold."""
        said, holds = self._session.verify(str(self.folder), seed)
        if not holds:
            raise RunError(said)
        return said

    def save(self, folder: str | Path) -> Path:
        """Copies the run into a folder that is not there yet, or empty."""
        place = Path(folder)
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise RunError(f"{place} is not empty; choose another folder")
        shutil.copytree(self.folder, place, dirs_exist_ok=True)
        return place

    def report(self, file: str | Path) -> Path:
        """Writes the report, one page that needs nothing else."""
        return _write(file, self._session.report([str(self.folder)]))

    def plot(self) -> Any:
        """A matplotlib figure of how the run went. Needs the extra ``appropo[plot]``."""
        from .plot import course

        return course(self)

    def export(self, file: str | Path) -> str:
        """Writes the networks as ONNX files, with the mixture's weights beside them."""
        return self._session.export(str(self.folder), str(file)).strip()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{row['name']}</td><td>{'holds' if row['holds'] else 'violated'}</td>"
            f"<td>{row['distance']:.3g}</td></tr>"
            for row in self.constraints
        )
        head = "<tr><th>constraint</th><th></th><th>distance</th></tr>"
        return f"<b>{self.verdict}</b> (distance {self.distance:.3g})<table>{head}{rows}</table>"

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f" at level {self.confidence}"
        bound = f", at least {self.lower_bound:.3g}" if self.lower_bound > 0 else ""
        return (
            f"<Result: {self.verdict}{sure}, distance {self.distance:.3g}{bound}; "
            f"{self.oracle_calls} rounds, {self.samples} samples>"
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
    place = Path(folder)
    return Result(place, problem, asked_of(oracle, problem))


def compare(*results: Result, file: str | Path) -> Path:
    """Writes a page that compares runs."""
    if not results:
        raise ProblemError("compare() needs at least one result")
    return _write(file, results[0]._session.report([str(result.folder) for result in results]))


def asked_of(oracle: Any, problem: Problem | None) -> Asked | None:
    """The oracle of a run that is loaded or gone on with."""
    if problem is not None and not hasattr(problem, "_session"):
        raise ProblemError(f"problem is {problem!r}; expected the ap.Problem that was solved")
    if oracle is not None and problem is None:
        raise ProblemError("an oracle acts in the world of a problem; pass problem= as well")
    return None if oracle is None or problem is None else Asked(oracle, problem)


def session_of(folder: Path, problem: Problem | None, asked: Asked | None) -> Session:
    """What a run is played and judged by."""
    if problem is not None:
        return problem._session({}, asked)
    return Session(str(_read(folder / "run.json")["problem"]), _text(folder / "problem.toml"))


def _remove(folder: Path, owner: int) -> None:
    # A process that was forked off has a copy of the result, but the folder is not its own.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def temporary_folder() -> Path:
    """A new folder for a run that is not kept."""
    return Path(tempfile.mkdtemp(prefix="appropo-"))


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_text(path))
        return found
    except ValueError as error:
        raise RunError(f"{path} is damaged: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path.parent} holds no run that has ended: {error}") from error


def _arrays(found: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value) if isinstance(value, list) else value for name, value in found.items()}


def _write(file: str | Path, text: str) -> Path:
    path = Path(file)
    path.write_text(text, encoding="utf-8")
    return path
