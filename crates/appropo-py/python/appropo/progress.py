"""How a run is getting on, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any

from .notebook import LiveView, is_notebook


class Progress:
    """One line on standard error that is written over and over."""

    def __init__(self) -> None:
        self._start = self._shown = time.monotonic()
        self._width = 0
        #: What takes its steps now, since when, and how many it had taken by then.
        self._part = ("", 0.0, 0)

    @classmethod
    def wanted(cls, asked: bool | None) -> Progress | LiveView | None:
        """A line, or a picture in notebooks, where it is asked for, or by default where someone can see it."""
        if not cls.is_wanted(asked):
            return None
        return LiveView() if is_notebook() else cls()

    @staticmethod
    def is_wanted(asked: bool | None) -> bool:
        """Whether progress is to be shown."""
        return sys.stderr.isatty() or is_notebook() if asked is None else asked

    def __call__(self, line: dict[str, Any]) -> None:
        """Shows a round, at most ten times a second."""
        if not self._is_due():
            return
        text = f"round {line['round']}, distance {line['distance']:.4g}, at least {line['lower_bound']:.4g}"
        if line["samples"]:
            rate = line["samples"] / (self._shown - self._start)
            text += f", {line['samples']} samples, {rate:.0f} steps/s"
        self._show(text)

    def part(self, line: dict[str, Any]) -> None:
        """Shows how far a part of the run has got that takes long."""
        phase, samples, now = line["phase"], line["samples"], time.monotonic()
        if self._part[0] != phase or samples < self._part[2]:
            self._part = (phase, now, samples)
        if not self._is_due():
            return
        _, since, before = self._part
        episodes = f"{line['episodes']} episodes, " if line["episodes"] else ""
        text = f"{phase}: {episodes}{samples}" + (f" of at most {line['of']}" if line["of"] else "") + " steps"
        if samples > before and now > since:
            rate = (samples - before) / (now - since)
            text += f", {rate:.0f} steps/s, at most {max(0, line['of'] - samples) / rate:.0f} s left"
        if line["open"]:
            text += f", open: {', '.join(line['open'])}"
        self._show(text)

    def study(self, text: str) -> None:
        """Shows how far a study is."""
        if self._is_due():
            self._show(text)

    def _is_due(self) -> bool:
        now = time.monotonic()
        is_due = now - self._shown >= 0.1
        if is_due:
            self._shown = now
        return is_due

    def _show(self, text: str) -> None:
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def close(self) -> None:
        """Takes the line away."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
