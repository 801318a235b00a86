"""Constraints on what is measured, written as one would on paper.

>>> measure("drift") <= 12
<constraint on drift: at most 12>
>>> 2 * measure("cost") + measure("steps") <= 30
<constraint on cost, steps: in the half-space below 30>
>>> norm(measure("visits").share() - [0.5, 0.5]) <= 0.1
<constraint on visits per step: within 0.1 of the center>
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import sets
from ._appropo import ProblemError
from .arguments import number, numbers, shown, text
from .sets import ConvexSet
from .toml import write


@dataclass(frozen=True, repr=False)
class Constraint:
    """What the long-term value of some measures must satisfy."""

    measures: tuple[str, ...]
    #: A line of a problem file, or a set that no file can hold.
    stated: str | ConvexSet
    #: The same in words.
    required: str
    is_share: bool = False
    name: str | None = None
    unit: float | None = None
    #: Of how many entries the set is, where it is of so many and no other.
    entries: int | None = None

    def named(self, name: str) -> Constraint:
        """The same under a name of its own in results."""
        return replace(self, name=text("name", name))

    def scaled(self, unit: float) -> Constraint:
        """The same with what counts as one unit of violation."""
        if number("unit", unit) <= 0:
            raise ProblemError(f"unit is {shown(unit)}; expected a number above 0")
        return replace(self, unit=float(unit))

    def text(self, names: dict[str, ConvexSet]) -> str:
        """As it stands in a problem file; sets that no file can hold get a name there, which is added to ``names``."""
        lines = ["[[constraint]]"]
        if self.name is not None:
            lines.append(f"name = {write(self.name)}")
        lines.append(f"measure = {write(self.measures[0] if len(self.measures) == 1 else list(self.measures))}")
        if self.is_share:
            lines.append("share = true")
        if self.unit is not None:
            lines.append(f"scale = {write(self.unit)}")
        if isinstance(self.stated, str):
            lines.append(self.stated)
        else:
            name = f"set {len(names) + 1}: {self.stated._core.requirement}"
            names[name] = self.stated
            lines.append(f"custom = {write(name)}")
        return "\n".join(lines) + "\n"

    def check(self, measures: dict[str, int]) -> None:
        """Refuses measures that have not as many entries as the set has dimensions."""
        found = sum(measures[name] for name in self.measures)
        if self.entries not in (None, found):
            raise ProblemError(f"{self!r}: the set has {self.entries} dimensions, but its measures {found} entries")

    def __repr__(self) -> str:
        per_step = " per step" if self.is_share else ""
        named = f" {self.name!r}" if self.name is not None else ""
        return f"<constraint{named} on {', '.join(self.measures)}{per_step}: {self.required}>"

    def __bool__(self) -> bool:
        raise ProblemError(
            "a constraint is neither true nor false; for bounds on both sides write two constraints, or .between(a, b)"
        )


_WORDS = {"at_most": "at most", "at_least": "at least", "equals": "equal to", "between": "between"}


class _Compared:
    """What may stand in a constraint. Comparisons that make no closed convex set are refused."""

    # NumPy must leave comparisons and sums with arrays to this class.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> NoReturn:
        raise ProblemError("< leaves out the bound, which can't be told from it by measuring; write <=")

    def __gt__(self, other: Any) -> NoReturn:
        raise ProblemError("> leaves out the bound, which can't be told from it by measuring; write >=")

    def __ne__(self, other: object) -> NoReturn:
        raise ProblemError("what is unequal to something is not convex; bound it with <= or >=")


class Measure(_Compared):
    """One measure or several, to be constrained."""

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

    def within(self, target: ConvexSet) -> Constraint:
        """It must lie in a set."""
        if not isinstance(target, ConvexSet):
            raise ProblemError(f"{shown(target)} is no set; make one, such as ap.Ball(center, radius)")
        core = target._core
        stated = core.line or target
        return Constraint(self._names, stated, core.requirement, self._is_share, entries=target.dim)

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Constraint:
        """Each entry must lie between two numbers, or between those of two vectors."""
        low, high = numbers("lower", lower), numbers("upper", upper)
        if low.size != 1 and high.size != 1 and low.size != high.size:
            raise ProblemError(f"lower has {low.size} entries and upper {high.size}; expected as many in both")
        if np.any(low.ravel() > high.ravel()):
            raise ProblemError(f"lower is {shown(lower)}, above upper, which is {shown(upper)}; swap them")
        if low.ndim == high.ndim == 0:
            return self._bound("between", [float(low), float(high)])
        low, high = np.broadcast_arrays(low.ravel(), high.ravel())
        return self.within(sets.Box(low, high))

    def _bound(self, key: str, bound: Any) -> Constraint:
        value = write(_plain(numbers("the bound", bound)))
        return Constraint(self._names, f"{key} = {value}", f"{_WORDS[key]} {value}", self._is_share)

    def __le__(self, bound: Any) -> Constraint:
        if isinstance(bound, (Measure, Linear)):
            return self._linear() <= bound
        return self._bound("at_most", bound)

    def __ge__(self, bound: Any) -> Constraint:
        if isinstance(bound, (Measure, Linear)):
            return self._linear() >= bound
        return self._bound("at_least", bound)

    def __eq__(self, value: object) -> Constraint:  # type: ignore[override]
        if isinstance(value, (Measure, Linear)):
            return self._linear() == value
        return self._bound("equals", value)

    def _linear(self) -> Linear:
        if self._is_share or len(self._names) != 1:
            raise ProblemError(f"sums are of single measures, not of {self!r}; use .within(HalfSpace(...)) here")
        return Linear({self._names[0]: 1.0}, 0.0)

    def __add__(self, other: Any) -> Linear:
        return self._linear().plus(other)

    def __radd__(self, other: Any) -> Linear:
        return self._linear().plus(other)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, (Measure, Linear)):
            return self._linear() - other
        point = numbers("what is subtracted", other)
        return self._linear() - point if point.ndim == 0 else Difference(self, point)

    def __rsub__(self, other: Any) -> Linear:
        return self._linear().times(-1.0).plus(other)

    def __mul__(self, factor: float) -> Linear:
        return self._linear().times(factor)

    def __rmul__(self, factor: float) -> Linear:
        return self._linear().times(factor)

    def __truediv__(self, divisor: float) -> Linear:
        return self._linear() / divisor

    def __neg__(self) -> Linear:
        return self._linear().times(-1.0)

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


class Linear(_Compared):
    """A weighted sum of measures."""

    def __init__(self, weights: dict[str, float], constant: float) -> None:
        self._weights, self._constant = weights, constant

    @staticmethod
    def of(summand: Any) -> Linear:
        """A measure, a sum or a number as a sum."""
        if isinstance(summand, Measure):
            return summand._linear()
        return summand if isinstance(summand, Linear) else Linear({}, number("the summand", summand))

    def plus(self, other: Any) -> Linear:
        """The sum with another, or with a number."""
        added = Linear.of(other)
        weights = dict(self._weights)
        for name, weight in added._weights.items():
            weights[name] = weights.get(name, 0.0) + weight
        return Linear(weights, self._constant + added._constant)

    def times(self, factor: float) -> Linear:
        """The multiple by a number."""
        by = number("the factor", factor)
        return Linear({name: by * weight for name, weight in self._weights.items()}, by * self._constant)

    def minus(self, other: Any) -> Linear:
        """The difference from another, or from a number."""
        return self.plus(Linear.of(other).times(-1.0))

    def __add__(self, other: Any) -> Linear:
        return self.plus(other)

    def __radd__(self, other: Any) -> Linear:
        return self.plus(other)

    def __sub__(self, other: Any) -> Linear:
        return self.minus(other)

    def __rsub__(self, other: Any) -> Linear:
        return self.times(-1.0).plus(other)

    def __mul__(self, factor: float) -> Linear:
        return self.times(factor)

    def __rmul__(self, factor: float) -> Linear:
        return self.times(factor)

    def __truediv__(self, divisor: float) -> Linear:
        by = number("the divisor", divisor)
        if by == 0:
            raise ProblemError(f"the divisor is {shown(divisor)}; expected another number")
        return self.times(1.0 / by)

    def __neg__(self) -> Linear:
        return self.times(-1.0)

    def __le__(self, other: Any) -> Constraint:
        measured, weights, bound = self.minus(other)._parts()
        return measured.within(sets.HalfSpace(weights, bound))

    def __ge__(self, other: Any) -> Constraint:
        return self.times(-1.0) <= Linear.of(other).times(-1.0)

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]
        measured, weights, bound = self.minus(other)._parts()
        return measured.within(sets.Affine([weights], [bound]))

    def _parts(self) -> tuple[Measure, list[float], float]:
        """The measures and their weights, and what their sum is compared with."""
        if not any(self._weights.values()):
            raise ProblemError("no measure is left in the constraint: all their weights are 0; write another sum")
        return Measure(*self._weights), list(self._weights.values()), -self._constant


class Difference(_Compared):
    """Measures minus a point."""

    def __init__(self, measured: Measure, center: NDArray[np.float64]) -> None:
        self._measure, self._center = measured, center

    def __le__(self, other: object) -> NoReturn:
        raise ProblemError("measures minus a point are a vector; take its norm(), or compare the measure with a vector")

    __ge__ = __eq__ = __le__


class Norm(_Compared):
    """The length of a difference."""

    def __init__(self, difference: Difference, ball: type[sets._Round]) -> None:
        self._difference, self._ball = difference, ball

    def __le__(self, radius: float) -> Constraint:
        if number("the radius", radius) < 0:
            raise ProblemError(f"the radius is {shown(radius)}; expected a number, 0 or more")
        center = self._difference._center.ravel()
        return self._difference._measure.within(self._ball(center, radius))

    def __ge__(self, radius: float) -> NoReturn:
        raise ProblemError("what lies outside a ball is not convex; a norm can only be bounded above, with <=")

    def __eq__(self, radius: object) -> NoReturn:
        raise ProblemError("a sphere is not convex; a norm can only be bounded above, with <=")

    def _alone(self, *_: Any) -> NoReturn:
        raise ProblemError("a norm stands alone on its side of a constraint, as in norm(...) <= radius")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = _alone


def norm(difference: Difference, p: Literal[1, 2] | float = 2) -> Norm:
    """The p-norm of measures minus a point, p = 1, 2 or infinity: ``norm(measure("z") - center) <= radius``."""
    balls: dict[float, type[sets._Round]] = {1: sets.L1Ball, 2: sets.Ball, float("inf"): sets.LinfBall}
    if not isinstance(difference, Difference):
        raise ProblemError("norm() takes measures minus a point, as in norm(measure('z') - [0, 0])")
    if not isinstance(p, (int, float)) or p not in balls:
        raise ProblemError(f"p is {shown(p)}; expected 1, 2 or infinity")
    return Norm(difference, balls[p])
