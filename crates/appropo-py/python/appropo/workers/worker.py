"""A worker, wherever it is."""

from __future__ import annotations

from typing import Any

from .._appropo import Worker
from .recipe import Recipe


class Work:
    """A world that is played as tasks say."""

    def __init__(self, recipe: bytes, number: int) -> None:
        self._worker: Worker | None = None
        self._error: Exception | None = None
        #: What the worker's worlds are made of lives as long as it does.
        self._kept: Any = None
        # Imports take their time: a worker that is lost in them must not count as one that was lost in an episode.
        try:
            core, self._kept = Recipe.unpacked(recipe).core()
            self._worker = Worker(core, number)
        except Exception as error:
            # Whatever a module raises is the business of the program that asked.
            self._error = error

    def play(self, policy: bytes | None, tasks: list[bytes]) -> tuple[list[bytes], Exception | None]:
        """The answers of tasks up to the first that raises, and what that raises."""
        answers: list[bytes] = []
        if self._worker is None:
            return answers, self._error
        try:
            if policy is not None:
                self._worker.load(policy)
            for task in tasks:
                answers.append(self._worker.play(task))
        except Exception as error:
            # As above.
            return answers, error
        return answers, None
