"""Runs in notebooks, by plain HTML: nothing of it runs a script of the notebook's or asks for anything."""

from __future__ import annotations

import math
import sys
import time
from html import escape
from typing import Any

#: Seconds between two pictures of a run that goes on.
EVERY = 0.5
#: Rounds whose distances are kept for the picture; beyond that every second one is dropped.
MOST = 400
#: The picture's size.
WIDTH, HEIGHT = 320, 60


def is_notebook() -> bool:
    """Whether this runs in a notebook, and not only beside what notebooks need."""
    ipython = sys.modules.get("IPython")
    return getattr(ipython and ipython.get_ipython(), "kernel", None) is not None


def frame(page: str, height: int) -> str:
    """A page inside another, which it can't reach: it is of no origin."""
    style = f"width: 100%; height: {height}px; border: 1px solid #ccc; border-radius: 4px"
    source = escape(page, quote=True)
    return f'<div><iframe sandbox="allow-scripts" style="{style}" srcdoc="{source}"></iframe></div>'


class LiveView:
    """A picture of a run that is drawn anew while it goes on, in place of the line of a terminal."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html, self._start, self._shown = HTML, time.monotonic(), -math.inf
        self._line: dict[str, Any] = {}
        self._part = ""
        #: The round and distance of some rounds, and of every how many.
        self._course: list[tuple[int, float]] = []
        self._stride = 1
        self._handle = display(HTML(self._page("begins")), display_id=True)

    def __call__(self, line: dict[str, Any]) -> None:
        """Takes a round in, and shows it if the last picture is old."""
        self._line, self._part = line, ""
        if line["round"] % self._stride == 0 or line["round"] == 1:
            self._course.append((line["round"], line["distance"]))
        if len(self._course) > MOST:
            self._course, self._stride = self._course[::2], 2 * self._stride
        self._show("goes on")

    def part(self, line: dict[str, Any]) -> None:
        """Takes in how far a part of the run has got that takes long."""
        of = f" of at most {line['of']:,}" if line["of"] else ""
        open_ = f", open: {', '.join(line['open'])}" if line["open"] else ""
        self._part = f"{line['phase']}: {line['samples']:,}{of} steps{open_}"
        self._show("goes on")

    def close(self) -> None:
        """Shows the end."""
        self._part = ""
        self._show("is over", is_last=True)

    def _show(self, state: str, *, is_last: bool = False) -> None:
        now = time.monotonic()
        if (is_last or now - self._shown >= EVERY) and self._handle is not None:
            self._shown = now
            self._handle.update(self._html(self._page(state)))

    def _page(self, state: str) -> str:
        seconds = time.monotonic() - self._start
        said = f"The run {state}: {seconds:.0f} s"
        if not self._line:
            return f'<div class="appropo-live"><b>{said}</b><br>{escape(self._part)}</div>'
        line = self._line
        said += f", round {line['round']:,}"
        if line["samples"]:
            said += f", {line['samples']:,} samples"
        facts = f"distance {line['distance']:.4g}, at least {line['lower_bound']:.4g}"
        if line.get("objective") is not None:
            facts += f", best {line['objective']:.6g}"
        rows = "".join(
            f'<tr><td>{escape(name)}</td><td style="text-align: right">{value:.6g}</td>'
            f'<td style="text-align: right">{line["lam"].get(name, math.nan):.3g}</td></tr>'
            for name, value in line["mixture"].items()
        )
        table = f"<table><tr><th>measure</th><th>mixture</th><th>λ</th></tr>{rows}</table>" if rows else ""
        parts = [f"<b>{said}</b>", facts, escape(self._part), self._curve(), table]
        return '<div class="appropo-live">' + "<br>".join(part for part in parts if part) + "</div>"

    def _curve(self) -> str:
        """The distance by rounds, on a log scale."""
        points = [(at, distance) for at, distance in self._course if distance > 0 and math.isfinite(distance)]
        if len(points) < 2:
            return ""
        logs = [math.log10(distance) for _, distance in points]
        low, high = min(logs), max(logs)
        first, last = points[0][0], points[-1][0]
        across, up = WIDTH / max(1, last - first), (HEIGHT - 6) / ((high - low) or 1)
        places = " ".join(
            f"{across * (at - first):.1f},{3 + up * (high - y):.1f}" for (at, _), y in zip(points, logs, strict=True)
        )
        label = f"distance from {10 ** logs[0]:.3g} to {10 ** logs[-1]:.3g}, log scale"
        return (
            f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
            f'<title>{label}</title><polyline points="{places}" fill="none" stroke="currentColor"/></svg>'
        )
