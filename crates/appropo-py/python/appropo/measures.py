"""Constraints on what is measured, written as one would on paper.

>>> measure("drift") <= 12
<constraint on drift: at most 12>
>>> 2 * measure("cost") + measure("steps") <= 30
<constraint on 2 cost + steps: at most 30>
>>> measure("visits").share()[3] <= 0.05
<constraint on visits[3] per step: at most 0.05>
>>> norm(measure("visits").share() - [0.5, 0.5]) <= 0.1
<constraint on visits per step: within 0.1 of the center>
"""

from __future__ import annotations

from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import sets
from ._appropo import ProblemError
from .arguments import numbers, shown, text, whole
from .constraints import Constraint
from .linear import Compared, Length, Linear, Summand, Term

#: The keys of bounds in problem files, in words.
WORDS = {"at_most": "at most", "at_least": "at least", "equals": "equal to"}


class Measure(Summand):
    """One measure or several, to be constrained."""

    # An index makes no sequence: how many entries there are is known only in a problem.
    __iter__ = None

    def __init__(self, *names: str) -> None:
        if not names:
            raise ProblemError("measure() needs the name of a measure")
        self._names = tuple(text("the name of a measure", name) for name in names)
        self._is_share = False

    def share(self) -> Measure:
        """What is measured a step: the measures' totals divided by the number of steps."""
        per_step = Measure(*self._names)
        per_step._is_share = True
        return per_step

    def __getitem__(self, entry: int) -> Linear:
        """One of its entries, counted from 0."""
        return Linear({Term(self._single(), whole("the number of the entry", entry, least=0), self._is_share): 1.0})

    def sum(self) -> Linear:
        """The sum of all its entries."""
        return Linear({Term(name, "all", self._is_share): 1.0 for name in self._names})

    def within(self, target: sets.ConvexSet) -> Constraint:
        """It must lie in a set."""
        if not isinstance(target, sets.ConvexSet):
            raise ProblemError(f"{shown(target)} is no set; make one, such as ap.Ball(center, radius)")
        return Constraint(self._names, target, target._core.requirement, self._is_share)

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Constraint:
        """Each entry must lie between two numbers, or between those of two vectors."""
        low, high = numbers("lower", lower), numbers("upper", upper)
        if low.size != 1 and high.size != 1 and low.size != high.size:
            raise ProblemError(f"lower has {low.size} entries and upper {high.size}; expected as many in both")
        if np.any(low.ravel() > high.ravel()):
            raise ProblemError(f"lower is {shown(lower)}, above upper, which is {shown(upper)}; swap them")
        if low.ndim == high.ndim == 0:
            stated = ("between", [float(low), float(high)])
            return Constraint(self._names, stated, f"between {low:g} and {high:g}", self._is_share)
        low, high = np.broadcast_arrays(low.ravel(), high.ravel())
        return self.within(sets.Box(low, high))

    def _bound(self, key: str, bound: Any) -> Constraint:
        value = _plain(numbers("the bound", bound))
        return Constraint(self._names, (key, value), f"{WORDS[key]} {value}", self._is_share)

    def __le__(self, bound: Any) -> Constraint:
        return self._linear() <= bound if isinstance(bound, Summand) else self._bound("at_most", bound)

    def __ge__(self, bound: Any) -> Constraint:
        return self._linear() >= bound if isinstance(bound, Summand) else self._bound("at_least", bound)

    def __eq__(self, value: object) -> Constraint:  # type: ignore[override]
        return self._linear() == value if isinstance(value, Summand) else self._bound("equals", value)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Summand):
            return super().__sub__(other)
        point = numbers("what is subtracted", other)
        return super().__sub__(point) if point.ndim == 0 else Difference(self, point)

    def __rmatmul__(self, rows: ArrayLike) -> Mapped:
        return Mapped(np.atleast_2d(numbers("the matrix", rows)), self)

    def _linear(self) -> Linear:
        return Linear({Term(self._single(), is_share=self._is_share): 1.0})

    def _single(self) -> str:
        if len(self._names) != 1:
            raise ProblemError(f"{self!r} is several measures; write them one by one here, or take its .sum()")
        return self._names[0]

    def __repr__(self) -> str:
        return f"measure({', '.join(map(repr, self._names))})" + (".share()" if self._is_share else "")


def _plain(bound: NDArray[np.float64]) -> Any:
    """A bound as files have it, whole numbers without a point."""
    if bound.ndim > 0:
        return bound.ravel().tolist()
    value = float(bound)
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def measure(*names: str) -> Measure:
    """A measure, or several whose entries make up one vector."""
    return Measure(*names)


class Mapped(Compared):
    """A matrix times measures."""

    def __init__(self, rows: NDArray[np.float64], measured: Measure) -> None:
        self._rows, self._measure = rows, measured

    def __le__(self, bound: Any) -> Constraint:
        return self._measure.within(sets.Polytope(self._rows, self._bounds(bound)))

    def __ge__(self, bound: Any) -> Constraint:
        return self._measure.within(sets.Polytope(-self._rows, -self._bounds(bound)))

    def __eq__(self, bound: object) -> Constraint:  # type: ignore[override]
        return self._measure.within(sets.Affine(self._rows, self._bounds(bound)))

    def _bounds(self, bound: Any) -> NDArray[np.float64]:
        """One for each row."""
        bounds, count = numbers("the bound", bound).ravel(), len(self._rows)
        if bounds.size not in (1, count):
            raise ProblemError(f"the bound is {shown(bound)}; expected one number, or {count} as the matrix has rows")
        return np.broadcast_to(bounds, count)


class Difference(Compared):
    """Measures minus a point."""

    def __init__(self, measured: Measure, center: NDArray[np.float64]) -> None:
        self._measure, self._center = measured, center

    def __le__(self, other: object) -> NoReturn:
        raise ProblemError("measures minus a point are a vector; take its norm(), or compare the measure with a vector")

    __ge__ = __eq__ = __le__


def norm(difference: Difference, p: Literal[1, 2] | float = 2) -> Length:
    """The p-norm of measures minus a point, p = 1, 2 or infinity: ``norm(measure("z") - center) <= radius``."""
    balls: dict[float, type[sets._Round]] = {1: sets.L1Ball, 2: sets.Ball, float("inf"): sets.LinfBall}
    if not isinstance(difference, Difference):
        raise ProblemError("norm() takes measures minus a point, as in norm(measure('z') - [0, 0])")
    if not isinstance(p, (int, float)) or p not in balls:
        raise ProblemError(f"p is {shown(p)}; expected 1, 2 or infinity")
    center = difference._center.ravel()
    return Length(lambda radius: difference._measure.within(balls[p](center, radius)))
