"""Who plays what, and what happens when one of them is lost."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from .._appropo import WorkerError
from ..arguments import counted

#: Failures of the same task that end a run.
MOST_FAILURES = 3
#: Parts of what can be played anywhere that each worker gets, one after the other, so that all are busy to the end.
PARTS = 4
#: Tasks in a part, at most.
LARGEST_PART = 64
#: Seconds that a worker may take to start, besides its time for the task.
STARTING = 120.0

#: The stream that a task goes on with, and the task itself.
Task = tuple[int | None, bytes]


class Lost(Exception):
    """A worker is gone: killed, out of reach, or too slow."""


class Member(ABC):
    """One worker, as the pool sees it. It does one piece of work at a time."""

    #: The tasks it is at, by their places, and when they must be done.
    work: list[int]
    due: float
    #: Whether it has answered before, and the policy that it plays by.
    has_answered = False
    policy: bytes | None = None

    def __init__(self) -> None:
        self.work = []
        self.due = 0.0

    @abstractmethod
    def send(self, policy: bytes | None, tasks: list[bytes]) -> None:
        """Hands over tasks, with the policy unless it has it. Raises :class:`Lost`."""

    @abstractmethod
    def receive(self) -> tuple[list[bytes], Exception | None]:
        """The answers, up to the first task that raised, and what that raised. Raises :class:`Lost`."""

    @abstractmethod
    def stop(self) -> None:
        """Ends it, whatever it is doing."""


class Pool(ABC):
    """Workers, of which there are always as many as were asked for."""

    def __init__(self, count: int, timeout: float) -> None:
        self.count = count
        self._timeout = timeout
        self._members: list[Member] = []
        #: How many were ever started.
        self._started = 0
        #: How many were replaced, and the bytes that went to workers and came back.
        self.replaced = 0
        self.sent = 0
        self.received = 0

    @abstractmethod
    def _start(self, number: int) -> Member:
        """Another worker, of a number that no other has."""

    @abstractmethod
    def _ready(self, members: Sequence[Member], seconds: float) -> Sequence[Member]:
        """Those that have something to say, or are gone, after waiting for the first of them."""

    def play(self, policy: bytes, tasks: list[Task]) -> list[bytes]:
        """Has every task done by some worker that has the policy. Answers are in the order of the tasks."""
        while len(self._members) < self.count:
            self._members.append(self._another())
        answers: list[bytes | None] = [None] * len(tasks)
        queues = _Queues(tasks, self.count)
        failures: Counter[int] = Counter()
        while queues or any(member.work for member in self._members):
            for place, member in enumerate(self._members):
                if not member.work and (work := queues.next(place)):
                    self._hand_over(place, policy, work, tasks, queues, failures)
            self._take_back(answers, queues, failures)
        return [answer for answer in answers if answer is not None]

    def close(self) -> None:
        """Ends all workers."""
        members, self._members = self._members, []
        for member in members:
            member.stop()

    def _another(self) -> Member:
        self._started += 1
        return self._start(self._started)

    def _replace(self, place: int) -> None:
        self._members[place].stop()
        self.replaced += 1
        self._members[place] = self._another()

    def _hand_over(
        self,
        place: int,
        policy: bytes,
        work: list[int],
        tasks: list[Task],
        queues: _Queues,
        failures: Counter[int],
    ) -> None:
        member = self._members[place]
        is_new = member.policy != policy
        payload = [tasks[task][1] for task in work]
        member.work, member.policy = work, policy
        patience = self._timeout * len(work) + (0.0 if member.has_answered else STARTING)
        member.due = time.monotonic() + patience
        self.sent += sum(map(len, payload)) + (len(policy) if is_new else 0)
        try:
            member.send(policy if is_new else None, payload)
        except Lost as lost:
            self._failed(place, lost, queues, failures)

    def _take_back(self, answers: list[bytes | None], queues: _Queues, failures: Counter[int]) -> None:
        busy = [member for member in self._members if member.work]
        if not busy:
            return
        patience = max(0.0, min(member.due for member in busy) - time.monotonic())
        ready = set(map(id, self._ready(busy, patience)))
        for place, member in enumerate(self._members):
            if not member.work:
                continue
            if id(member) in ready:
                try:
                    done, error = member.receive()
                except Lost as lost:
                    self._failed(place, lost, queues, failures)
                    continue
                member.has_answered = True
                self.received += sum(map(len, done))
                for task, answer in zip(member.work, done, strict=False):
                    answers[task] = answer
                member.work = member.work[len(done) :]
                if error is not None:
                    self._failed(place, error, queues, failures, is_known=True)
            elif time.monotonic() >= member.due:
                late = Lost(f"it did not answer within {self._timeout:g} seconds")
                self._failed(place, late, queues, failures)

    def _failed(
        self, place: int, error: Exception, queues: _Queues, failures: Counter[int], *, is_known: bool = False
    ) -> None:
        """Replaces a worker and has its tasks done again, each by itself: one of several may be to blame."""
        work, self._members[place].work = self._members[place].work, []
        if is_known or len(work) == 1:
            failures[work[0]] += 1
        if failures[work[0]] >= MOST_FAILURES:
            if not isinstance(error, Lost):
                raise error
            raise WorkerError(
                f"a worker was lost {counted(MOST_FAILURES, 'time')} in the same episode: {error}; look for what ends "
                "it there (memory, a crash of the environment), or give it more time: timeout=..."
            ) from error
        self._replace(place)
        queues.again(place, work)


class _Queues:
    """Tasks that wait: streams for the worker that has them, the others for anyone."""

    def __init__(self, tasks: list[Task], count: int) -> None:
        self._own: list[deque[list[int]]] = [deque() for _ in range(count)]
        of: dict[int, list[int]] = {}
        anyone = []
        for place, (stream, _) in enumerate(tasks):
            if stream is None:
                anyone.append(place)
            else:
                of.setdefault(stream % count, []).append(place)
        for worker, work in of.items():
            self._own[worker].append(work)
        size = min(LARGEST_PART, max(1, len(anyone) // (PARTS * count)))
        self._anyone = deque(anyone[start : start + size] for start in range(0, len(anyone), size))

    def __bool__(self) -> bool:
        return bool(self._anyone) or any(self._own)

    def next(self, place: int) -> list[int]:
        if self._own[place]:
            return self._own[place].popleft()
        return self._anyone.popleft() if self._anyone else []

    def again(self, place: int, work: list[int]) -> None:
        self._own[place].extendleft([task] for task in reversed(work))


def sent(error: Exception) -> Any:
    """An exception as something that can be sent: itself where it can be pickled, else what it says."""
    import pickle
    import traceback

    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        # Whatever an exception's own methods raise, its text can be sent.
        error = WorkerError(f"{type(error).__name__}: {error}")
    return error, text


def came(error: Exception, text: str) -> Exception:
    """An exception that was raised in a worker, with where."""
    note = f"in a worker:\n{text.rstrip()}"
    if hasattr(error, "add_note"):
        error.add_note(note)
    return error
