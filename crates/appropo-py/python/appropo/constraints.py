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
from typing import Any, Literal

import numpy as np

from . import sets
from ._appropo import ProblemError
from .sets import ConvexSet, Vector
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

    def named(self, name: str) -> Constraint:
        """The same under a name of its own in results."""
        return replace(self, name=name)

    def scaled(self, unit: float) -> Constraint:
        """The same with what counts as one unit of violation."""
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

    def __repr__(self) -> str:
        per_step = " per step" if self.is_share else ""
        named = f" {self.name!r}" if self.name is not None else ""
        return f"<constraint{named} on {', '.join(self.measures)}{per_step}: {self.required}>"

    def __bool__(self) -> bool:
        raise ProblemError(
            "a constraint is neither true nor false; for bounds on both sides write two constraints, or .between(a, b)"
        )


_WORDS = {"at_most": "at most", "at_least": "at least", "equals": "equal to", "between": "between"}


class Measure:
    """One measure or several, to be constrained."""

    # NumPy must leave comparisons and sums with arrays to this class.
    __array_ufunc__ = None

    def __init__(self, *names: str) -> None:
        if not names:
            raise ProblemError("measure() needs the name of a measure")
        self._names = names
        self._is_share = False

    def share(self) -> Measure:
        """What is measured a step: the measures' totals divided by the number of steps."""
        per_step = Measure(*self._names)
        per_step._is_share = True
        return per_step

    def within(self, target: ConvexSet) -> Constraint:
        """It must lie in a set."""
        if not isinstance(target, ConvexSet):
            raise ProblemError(f"{target!r} is no set; make one, such as ap.Ball(center, radius)")
        core = target._core
        return Constraint(self._names, core.line or target, core.requirement, self._is_share)

    def between(self, lower: float, upper: float) -> Constraint:
        """Each entry must lie between two numbers."""
        return self._bound("between", [float(lower), float(upper)])

    def _bound(self, key: str, value: Any) -> Constraint:
        value = write(_number(value))
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

    __hash__ = None  # type: ignore[assignment]

    def _linear(self) -> Linear:
        if self._is_share or len(self._names) != 1:
            raise ProblemError(f"sums are of single measures, not of {self!r}; use .within(HalfSpace(...)) here")
        return Linear({self._names[0]: 1.0}, 0.0)

    def __add__(self, other: Any) -> Linear:
        return self._linear().plus(other)

    def __radd__(self, other: Any) -> Linear:
        return self._linear().plus(other)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, (Measure, Linear)) or np.ndim(other) == 0:
            return self._linear() - other
        return Difference(self, np.asarray(other, dtype=np.float64))

    def __rsub__(self, other: Any) -> Linear:
        return self._linear().times(-1.0).plus(other)

    def __mul__(self, factor: float) -> Linear:
        return self._linear().times(factor)

    def __rmul__(self, factor: float) -> Linear:
        return self._linear().times(factor)

    def __truediv__(self, divisor: float) -> Linear:
        return self._linear().times(1.0 / divisor)

    def __neg__(self) -> Linear:
        return self._linear().times(-1.0)

    def __repr__(self) -> str:
        return f"measure({', '.join(map(repr, self._names))})" + (".share()" if self._is_share else "")


def _number(value: Any) -> Any:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError(f"the bound is {value!r}; expected a number or a vector of numbers") from None
    if not np.isfinite(array).all():
        raise ProblemError(f"the bound is {value!r}; expected finite numbers")
    if array.ndim == 0:
        number = float(array)
        return int(number) if number.is_integer() and abs(number) < 1e15 else number
    return [float(entry) for entry in array.ravel()]


def measure(*names: str) -> Measure:
    """A measure, or several whose entries make up one vector."""
    return Measure(*names)


class Linear:
    """A weighted sum of measures."""

    __array_ufunc__ = None

    def __init__(self, weights: dict[str, float], constant: float) -> None:
        self._weights, self._constant = weights, constant

    def plus(self, other: Measure | Linear | float) -> Linear:
        """The sum with another, or with a number."""
        if isinstance(other, Measure):
            other = other._linear()
        if isinstance(other, Linear):
            weights = dict(self._weights)
            for name, weight in other._weights.items():
                weights[name] = weights.get(name, 0.0) + weight
            return Linear(weights, self._constant + other._constant)
        return Linear(self._weights, self._constant + float(other))

    def times(self, factor: float) -> Linear:
        """The multiple by a number."""
        return Linear({name: factor * w for name, w in self._weights.items()}, factor * self._constant)

    def __add__(self, other: Any) -> Linear:
        return self.plus(other)

    def __radd__(self, other: Any) -> Linear:
        return self.plus(other)

    def __sub__(self, other: Any) -> Linear:
        return self.plus(other * -1.0)

    def __rsub__(self, other: Any) -> Linear:
        return self.times(-1.0).plus(other)

    def __mul__(self, factor: float) -> Linear:
        return self.times(factor)

    def __rmul__(self, factor: float) -> Linear:
        return self.times(factor)

    def __truediv__(self, divisor: float) -> Linear:
        return self.times(1.0 / divisor)

    def __neg__(self) -> Linear:
        return self.times(-1.0)

    def __le__(self, other: Any) -> Constraint:
        rest = self - other
        names = tuple(rest._weights)
        return Measure(*names).within(sets.HalfSpace(list(rest._weights.values()), -rest._constant))

    def __ge__(self, other: Any) -> Constraint:
        return self.times(-1.0).__le__(other * -1.0)

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]
        rest = self - other
        names = tuple(rest._weights)
        return Measure(*names).within(sets.Affine([list(rest._weights.values())], [-rest._constant]))

    __hash__ = None  # type: ignore[assignment]


class Difference:
    """Measures minus a point."""

    def __init__(self, measured: Measure, center: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        self._measure, self._center = measured, center


class Norm:
    """The length of a difference."""

    def __init__(self, difference: Difference, ball: type[sets._Round]) -> None:
        self._difference, self._ball = difference, ball

    def __le__(self, radius: float) -> Constraint:
        center: Vector = np.atleast_1d(self._difference._center)
        return self._difference._measure.within(self._ball(center, radius))


def norm(difference: Difference, p: Literal[1, 2] | float = 2) -> Norm:
    """The p-norm of measures minus a point, p = 1, 2 or infinity: ``norm(measure("z") - center) <= radius``."""
    balls: dict[float, type[sets._Round]] = {1: sets.L1Ball, 2: sets.Ball, float("inf"): sets.LinfBall}
    if not isinstance(difference, Difference):
        raise ProblemError("norm() takes measures minus a point, as in norm(measure('z') - [0, 0])")
    if p not in balls:
        raise ProblemError(f"p is {p}; expected 1, 2 or infinity")
    return Norm(difference, balls[p])
