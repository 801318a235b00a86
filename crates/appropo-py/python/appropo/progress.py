"""How a run is getting on, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any


class Progress:
    """One line on standard error that is written over and over."""

    def __init__(self) -> None:
        self._start = self._shown = time.monotonic()
        self._width = 0

    @classmethod
    def wanted(cls, asked: bool | None) -> Progress | None:
        """A line where it is asked for, or by default where someone can see it."""
        is_seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        return cls() if (is_seen if asked is None else asked) else None

    def __call__(self, line: dict[str, Any]) -> None:
        """Shows a round, at most ten times a second."""
        now = time.monotonic()
        if now - self._shown < 0.1:
            return
        self._shown = now
        text = f"round {line['round']}, distance {line['distance']:.4g}, at least {line['lower_bound']:.4g}"
        if line["samples"]:
            rate = line["samples"] / (now - self._start)
            text += f", {line['samples']} samples, {rate:.0f} steps/s"
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def close(self) -> None:
        """Takes the line away."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
