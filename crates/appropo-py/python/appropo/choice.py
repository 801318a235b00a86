"""Players, oracles and methods with options."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ._appropo import ProblemError


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Choice:
    """A player, an oracle or a method with options."""

    #: "player", "oracle" or "method".
    kind: ClassVar[str] = ""
    #: Its registered name.
    name: ClassVar[str] = ""

    def _given(self) -> dict[str, Any]:
        """The options that were given, without those that all learners share."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "learned"}
        # A data set is named by its file.
        return {name: getattr(value, "_file", value) for name, value in named.items() if value is not None}

    def tables(self) -> dict[str, Any]:
        """Its options as the table [solve] of a problem file has them."""
        options = self._given()
        return {self.name: options} if options else {}

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self._given().items())
        return f"{type(self).__name__}({options})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Learner(Choice):
    """A learner as the oracle. ``learned`` has the options of how it answers λ, which all learners share."""

    learned: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.learned is not None and not isinstance(self.learned, dict):
            raise ProblemError(f"learned is {self.learned!r}; expected a dictionary, such as dict(episodes=50)")

    def tables(self) -> dict[str, Any]:
        """Its options as the table [solve] of a problem file has them."""
        return super().tables() | ({"learned": self.learned} if self.learned else {})
