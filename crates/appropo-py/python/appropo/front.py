"""Pareto fronts: what several measures can be had together, with proof."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _appropo
from ._appropo import Front as _Front
from ._appropo import Plan, ProblemError, RunError
from .arguments import number, place, shown, whole
from .policy import MixedPolicy
from .problem import Problem
from .shared import Shared


class Front(Shared):
    """The Pareto front of several measures subject to the constraints of a problem, over mixed policies.

    Rows of ``vertices`` are reached by mixed policies, ``policy(i)``; mixtures of them reach everything between. No
    feasible policy leaves any of the half-spaces ``weights @ values <= bounds``, whose ``corners`` are the outer
    approximation. The two are ``gap`` apart, in ``units``: the range of each measure over the front.
    """

    _instead = "save it with front.save(folder)"

    def __init__(self, problem: Problem, plan: Plan, core: _Front) -> None:
        self._problem, self._plan, self._front = problem, plan, core
        #: The measures by name, with "maximize" or "minimize".
        self.measures: dict[str, str] = dict(core.measures)

    @property
    def verdict(self) -> str:
        """Whether the constraints can be met: "feasible", "infeasible" or "undecided"."""
        return self._front.verdict

    @property
    def vertices(self) -> NDArray[np.float64]:
        """A row for each vertex, a column for each measure, in the order of :attr:`measures`."""
        return np.asarray(self._front.vertices)

    @property
    def corners(self) -> NDArray[np.float64]:
        """The corners of the outer approximation, in the same way."""
        return np.asarray(self._front.corners)

    @property
    def weights(self) -> NDArray[np.float64]:
        """A row for each proved half-space: positive for measures to be large, negative for those to be small."""
        return np.asarray(self._front.weights)

    @property
    def bounds(self) -> NDArray[np.float64]:
        """What ``weights @ values`` is at most, for every feasible policy."""
        return np.asarray(self._front.bounds)

    @property
    def units(self) -> dict[str, float]:
        """The range of each measure over the front."""
        return dict(zip(self.measures, (float(unit) for unit in self._front.units), strict=True))

    @property
    def gap(self) -> float:
        """No feasible policy lies further beyond what the vertices reach, in units of these ranges."""
        return self._front.gap

    @property
    def distance(self) -> float:
        """How far the mixture that comes closest to the constraints is from them."""
        return self._front.distances[0]

    @property
    def lower_bound(self) -> float:
        """No policy comes closer to the constraints than this."""
        return self._front.distances[1]

    @property
    def oracle_calls(self) -> int:
        """How often the oracle was asked."""
        return self._front.oracle_calls

    def policy(self, vertex: int) -> MixedPolicy:
        """The mixed policy of a vertex, to act with."""
        found = self._front.policy(self._problem._core, self._number(vertex))
        assert found is not None
        return MixedPolicy(found, self._problem._shape)

    def measurements(self, vertex: int) -> dict[str, Any]:
        """All that a vertex measures."""
        found = self._front.measurements(self._problem._core, self._number(vertex)) or []
        return {name: values[0] if len(values) == 1 else np.array(values) for name, values in found}

    def _number(self, vertex: int) -> int:
        count = len(self.vertices)
        found = whole("vertex", vertex, least=0)
        if found >= count:
            raise ProblemError(f"vertex is {found}; expected a number below {count}, the number of vertices")
        return found

    def verify(self) -> str:
        """Computes vertices, faces and gap again, and says what was checked. Raises RunError if one does not hold."""
        said, holds = self._front.verify(self._problem._core)
        if not holds:
            raise RunError(said)
        return said

    def save(self, folder: str | Path) -> Path:
        """Writes the front into a folder that is not there yet, or empty; ``appropo verify`` checks it."""
        path = place("folder", folder)
        self._front.save(self._problem._core, self._plan, path)
        return path

    def report(self, file: str | Path) -> Path:
        """Writes the report, one page that needs nothing else."""
        return self._write(file, self._front.report(self._problem._core, self._plan))

    def csv(self, file: str | Path) -> Path:
        """Writes the vertices as a table."""
        return self._write(file, self._front.csv(self._problem._core))

    def _write(self, file: str | Path, text: str) -> Path:
        path = place("file", file)
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise RunError(f"{path} can't be written: {error.strerror}; choose another place") from error
        return path

    def __repr__(self) -> str:
        return f"<Front: {self._front.sentence}>"


def pareto(
    problem: Problem | str | Path,
    *,
    maximize: str | Iterable[str] = (),
    minimize: str | Iterable[str] = (),
    epsilon: float = 1e-4,
    calls: int = 10_000,
    tolerance: float | None = None,
) -> Front:
    """The Pareto front of two or more measures subject to the constraints, in a known model.

    ``maximize`` and ``minimize`` name the measures, an entry of one as in ``"visits[3]"``. ``epsilon`` is how far what
    is found and what is proved may be apart, in parts of each measure's range over the front; ``calls`` are the most
    calls of the oracle.

    >>> front = pareto("mars-rover", maximize=["reward"], minimize=["failure"])
    >>> front.verdict, front.gap <= 1e-4
    ('feasible', True)
    >>> front.vertices.round(4)[-1].tolist()
    [-0.111, 0.2]
    """
    if not isinstance(problem, Problem):
        problem = Problem.load(problem)
    named = [(name, True) for name in _names("maximize", maximize)]
    named += [(name, False) for name in _names("minimize", minimize)]
    plan, _ = problem._plan(problem._core, {"tolerance": tolerance})
    epsilon, calls = number("epsilon", epsilon), whole("calls", calls, least=1)
    return Front(problem, plan, _appropo.pareto(problem._core, plan, named, epsilon, calls))


def _names(key: str, given: str | Iterable[str]) -> list[str]:
    if isinstance(given, str):
        return [given]
    names = list(given)
    for name in names:
        if not isinstance(name, str):
            raise ProblemError(f'{key} names {shown(name)}; expected names of measures, such as ["reward"]')
    return names
