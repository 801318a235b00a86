"""Weighted sums of measures, and of entries of them, in constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import sets
from ._appropo import ProblemError
from .arguments import number, shown
from .constraints import Constraint, Stated, entries


class Compared:
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


class Length(Compared):
    """A norm or an absolute value."""

    def __init__(self, bounded: Callable[[float], Constraint]) -> None:
        self._bounded = bounded

    def __le__(self, bound: float) -> Constraint:
        largest = number("the bound", bound)
        if largest < 0:
            raise ProblemError(f"the bound is {shown(bound)}; expected a number, 0 or more")
        return self._bounded(largest)

    def __ge__(self, bound: float) -> NoReturn:
        raise ProblemError("what is far from a point is not convex; norms and abs() are bounded above, with <=")

    def __eq__(self, bound: object) -> NoReturn:
        raise ProblemError("a sphere is not convex; norms and abs() are bounded above, with <=")

    def _alone(self, *_: Any) -> NoReturn:
        raise ProblemError("norms and abs() stand alone on their side of a constraint, as in norm(...) <= radius")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = _alone


class Summand(Compared):
    """What may stand in a sum."""

    def _linear(self) -> Linear:
        raise NotImplementedError

    def between(self, lower: Any, upper: Any) -> Constraint:
        """It must lie between two numbers."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Linear:
        # A function of measures knows what its sum with them is.
        if isinstance(other, Compared) and not isinstance(other, Summand):
            return NotImplemented
        return self._linear().plus(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Compared) and not isinstance(other, Summand):
            return NotImplemented
        return self._linear().plus(Linear.of(other).times(-1.0))

    def __rsub__(self, other: Any) -> Linear:
        return self._linear().times(-1.0).plus(other)

    def __mul__(self, factor: float) -> Linear:
        return self._linear().times(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Linear:
        by = number("the divisor", divisor)
        if by == 0:
            raise ProblemError(f"the divisor is {shown(divisor)}; expected another number")
        return self._linear().times(1.0 / by)

    def __neg__(self) -> Linear:
        return self._linear().times(-1.0)

    def __abs__(self) -> Length:
        return Length(lambda bound: self.between(-bound, bound))


class Term(NamedTuple):
    """A measure in a sum: its only entry, one of its entries, or all of them."""

    name: str
    entry: int | Literal["only", "all"] = "only"
    is_share: bool = False

    def places(self, size: int) -> int | slice:
        """Where its entries are, in a measure with so many."""
        if self.entry == "all":
            return slice(None)
        if self.entry == "only" and size != 1:
            raise ProblemError(
                f"{self.name} has {size} entries; take one of them, as in measure({self.name!r})[0], or their .sum()"
            )
        entry = 0 if self.entry == "only" else self.entry
        if entry >= size:
            raise ProblemError(f"{self} is not there: the measure has {size} entries, counted from 0")
        return entry

    def __str__(self) -> str:
        if self.entry == "only":
            return self.name
        return f"{self.name}.sum()" if self.entry == "all" else f"{self.name}[{self.entry}]"


class Linear(Summand):
    """A weighted sum and a constant."""

    def __init__(self, weights: dict[Term, float], constant: float = 0.0) -> None:
        self._weights, self._constant = weights, constant

    @staticmethod
    def of(summand: Any) -> Linear:
        """A measure, a sum or a number as a sum."""
        return summand._linear() if isinstance(summand, Summand) else Linear({}, number("the summand", summand))

    def plus(self, other: Any) -> Linear:
        """The sum with another, or with a number."""
        added = Linear.of(other)
        weights = dict(self._weights)
        for term, weight in added._weights.items():
            weights[term] = weights.get(term, 0.0) + weight
        return Linear(weights, self._constant + added._constant)

    def times(self, factor: float) -> Linear:
        """The multiple by a number."""
        by = number("the factor", factor)
        return Linear({term: by * weight for term, weight in self._weights.items()}, by * self._constant)

    def between(self, lower: float, upper: float) -> Constraint:
        """It must lie between two numbers."""
        low, high = number("lower", lower), number("upper", upper)
        if low > high:
            raise ProblemError(f"lower is {shown(lower)}, above upper, which is {shown(upper)}; swap them")
        low, high = low - self._constant, high - self._constant
        plain = "between", [low, high]
        return self._constrained(f"between {low:g} and {high:g}", plain, lambda normal: sets.Slab(normal, low, high))

    def __le__(self, other: Any) -> Constraint:
        left, bound = self._sides(other)
        plain = "at_most", bound
        return left._constrained(f"at most {bound:g}", plain, lambda normal: sets.HalfSpace(normal, bound))

    def __ge__(self, other: Any) -> Constraint:
        left, bound = self._sides(other)
        plain = "at_least", bound
        return left._constrained(f"at least {bound:g}", plain, lambda normal: sets.HalfSpace(-normal, -bound))

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]
        left, bound = self._sides(other)
        plain = "equals", bound
        return left._constrained(f"equal to {bound:g}", plain, lambda normal: sets.Affine(normal[None], [bound]))

    def _sides(self, other: Any) -> tuple[Linear, float]:
        """The sum of all measures, and the number that it is compared with."""
        left = self - other
        return left, 0.0 - left._constant

    def _constrained(
        self, required: str, plain: tuple[str, Any], make: Callable[[NDArray[np.float64]], sets.ConvexSet]
    ) -> Constraint:
        """The constraint that a set of weighted sums makes, given their weights; ``plain`` is that of one entry."""
        weights = {term: weight for term, weight in self._weights.items() if weight}
        if not weights:
            raise ProblemError("no measure is left in the constraint: all their weights are 0; write another sum")
        shares = {term.is_share for term in weights}
        if len(shares) > 1:
            raise ProblemError("a total and a share per step can't be added; take the .share() of all or of none")
        whole = {term.name for term in weights if term.entry == "all"}
        # Entries that nothing is asked of stay out of it.
        columns = {term: term.name if term.name in whole else str(term) for term in weights}
        names = tuple(dict.fromkeys(columns.values()))

        def stated(measures: Mapping[str, int]) -> Stated:
            parts = {name: np.zeros(entries(measures, name)) for name in names}
            for term, weight in weights.items():
                place = term.places(measures[term.name])
                parts[columns[term]][place if term.name in whole else 0] += weight
            return plain if [*weights.values()] == [1.0] and not whole else make(np.concatenate(list(parts.values())))

        return Constraint(names, stated, required, shares.pop(), _written(weights))

    def terms(self) -> list[tuple[Term, float]]:
        """What it adds up, with weights; there must be no constant in it."""
        if self._constant:
            raise ProblemError(f"a constant of {self._constant:g} changes no optimum; leave it out of the objective")
        return list(self._weights.items())

    def alone(self) -> Term | None:
        """The term that it is, if it is no more than one."""
        terms = list(self._weights)
        return terms[0] if list(self._weights.values()) == [1.0] and self._constant == 0 else None

    def _linear(self) -> Linear:
        return self

    def __repr__(self) -> str:
        constant = f" + {self._constant:g}" if self._constant else ""
        return f"<sum {_written(self._weights)}{constant}>"


def _written(weights: Mapping[Term, float]) -> str:
    """A sum as one writes it, cut short where it is long."""
    text = ""
    for term, weight in weights.items():
        sign = "-" if weight < 0 else "+"
        factor = "" if abs(weight) == 1 else f"{abs(weight):g} "
        text += f" {sign} {factor}{term}" if text else f"{sign.strip('+')}{factor}{term}"
    return text if len(text) <= 60 else text[:57] + "..."
