"""Constraints: what the long-term value of measures must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ._appropo import Constraint as _Constraint
from ._appropo import ConvexSet as _ConvexSet
from ._appropo import ProblemError, SetError
from .arguments import number, shown, text
from .sets import ConvexSet

#: A registered set and its options, or a set.
Stated = tuple[str, Any] | ConvexSet


def entries(measures: Mapping[str, int], name: str) -> int:
    """How many entries a measure has; 1 for an entry of one."""
    return measures.get(name, 1)


@dataclass(frozen=True, repr=False)
class Constraint:
    """What the long-term value of some measures must satisfy."""

    #: Names of measures, or of entries of them, such as ``visits[3]``.
    measures: tuple[str, ...]
    #: The set, or how it follows from the numbers of entries of all measures.
    stated: Stated | Callable[[Mapping[str, int]], Stated]
    #: The same in words.
    required: str
    is_share: bool = False
    #: The expression of the measures that is constrained, where it is not the measures themselves.
    expression: str | None = None
    name: str | None = None
    unit: float | None = None

    def named(self, name: str) -> Constraint:
        """The same under a name of its own in results."""
        return replace(self, name=text("name", name))

    def scaled(self, unit: float) -> Constraint:
        """The same with what counts as one unit of violation."""
        if number("unit", unit) <= 0:
            raise ProblemError(f"unit is {shown(unit)}; expected a number above 0")
        return replace(self, unit=float(unit))

    def built(self, measures: Mapping[str, int]) -> tuple[_Constraint, ConvexSet]:
        """What the solver sees, where there are these measures with their numbers of entries, and its set."""
        stated = self.stated(measures) if callable(self.stated) else self.stated
        count = sum(entries(measures, name) for name in self.measures)
        if isinstance(stated, tuple):
            key, value = stated
            try:
                stated = ConvexSet(_ConvexSet(key, value, count))
            except SetError as error:
                raise ProblemError(f"{self!r}: {error}") from None
        if stated.dim != count:
            raise ProblemError(f"{self!r}: the set has {stated.dim} dimensions, but its measures {count} entries")
        name = self.name or self.expression or ", ".join(self.measures)
        scale = 1.0 if self.unit is None else self.unit
        return _Constraint(name, list(self.measures), stated._core, self.is_share, scale), stated

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name is not None else ""
        about = self.expression or ", ".join(self.measures)
        per_step = " per step" if self.is_share else ""
        units = f", in units of {self.unit:g}" if self.unit is not None else ""
        return f"<constraint{named} on {about}{per_step}: {self.required}{units}>"

    def __bool__(self) -> bool:
        raise ProblemError(
            "a constraint is neither true nor false; for bounds on both sides write two constraints, or .between(a, b)"
        )

    def __and__(self, other: Any) -> NoReturn:
        raise ProblemError("constraints are put in a list, all of which must hold: [a, b] instead of a & b")

    __rand__ = __and__
