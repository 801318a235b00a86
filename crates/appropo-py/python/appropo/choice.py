"""Players and oracles with options."""

from __future__ import annotations

from typing import Any

from ._appropo import ProblemError


class Choice:
    """A player or an oracle with options."""

    #: "player" or "oracle".
    kind: str = ""
    #: Its registered name.
    name: str = ""

    def __init__(self, **options: Any) -> None:
        self._options = {key: value for key, value in options.items() if value is not None}

    def tables(self) -> dict[str, Any]:
        """Its options as the table [solve] of a problem file has them."""
        return {self.name: self._options} if self._options else {}

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self._options.items())
        return f"{type(self).__name__}({options})"


class Learner(Choice):
    """A learner as the oracle. ``learned`` has the options of how it answers λ, which all learners share."""

    def __init__(self, learned: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(**options)
        if learned is not None and not isinstance(learned, dict):
            raise ProblemError(f"learned is {learned!r}; expected a dictionary, such as dict(episodes=50)")
        self._learned = learned or {}

    def tables(self) -> dict[str, Any]:
        """Its options as the table [solve] of a problem file has them."""
        return super().tables() | ({"learned": self._learned} if self._learned else {})
