"""Constraints: what the long-term value of measures must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ._appropo import ProblemError
from .arguments import number, shown, text
from .sets import ConvexSet
from .toml import write

#: A line of a problem file, a set, or the set for measures of these numbers of entries.
Stated = str | ConvexSet | Callable[[Mapping[str, int]], ConvexSet]


@dataclass(frozen=True, repr=False)
class Constraint:
    """What the long-term value of some measures must satisfy."""

    measures: tuple[str, ...]
    stated: Stated
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

    def text(self, measures: Mapping[str, int], names: dict[str, ConvexSet]) -> str:
        """As it stands in a problem file, where there are these measures with their numbers of entries.

        Sets that no file can hold get a name there, which is added to ``names``.
        """
        lines = ["[[constraint]]"]
        name = self.name or self.expression
        if name is not None:
            lines.append(f"name = {write(name)}")
        lines.append(f"measure = {write(self.measures[0] if len(self.measures) == 1 else list(self.measures))}")
        if self.is_share:
            lines.append("share = true")
        if self.unit is not None:
            lines.append(f"scale = {write(self.unit)}")
        stated = self.stated(measures) if callable(self.stated) else self.stated
        if isinstance(stated, ConvexSet):
            stated = self._line(stated, measures, names)
        return "\n".join([*lines, stated]) + "\n"

    def _line(self, target: ConvexSet, measures: Mapping[str, int], names: dict[str, ConvexSet]) -> str:
        found = sum(measures[name] for name in self.measures)
        if target.dim != found:
            raise ProblemError(f"{self!r}: the set has {target.dim} dimensions, but its measures {found} entries")
        if target._core.line is not None:
            return target._core.line
        name = f"set {len(names) + 1}: {target._core.requirement}"
        names[name] = target
        return f"custom = {write(name)}"

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
