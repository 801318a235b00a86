"""A worker, wherever it is."""

from __future__ import annotations

from typing import Any

from .._appropo import Worker
from .recipe import Recipe


class Work:
    """A world that is played as tasks say."""

    def __init__(self, recipe: bytes, number: int) -> None:
        self._recipe, self._number = recipe, number
        self._worker: Worker | None = None
        #: What the worker's worlds are made of lives as long as it does.
        self._kept: Any = None

    def play(self, policy: bytes | None, tasks: list[bytes]) -> tuple[list[bytes], Exception | None]:
        """The answers of tasks up to the first that raises, and what that raises."""
        answers: list[bytes] = []
        try:
            if self._worker is None:
                core, self._kept = Recipe.unpacked(self._recipe).core()
                self._worker = Worker(core, self._number)
            if policy is not None:
                self._worker.load(policy)
            for task in tasks:
                answers.append(self._worker.play(task))
        except Exception as error:
            # Whatever an environment raises is the business of the program that asked.
            return answers, error
        return answers, None
