"""Who plays what, and what happens when one of them is lost."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from .._appropo import WorkerError

#: Failures of the same task that end a run.
MOST_FAILURES = 3
#: Parts of what can be played anywhere that each worker gets, one after the other, so that all are busy to the end.
PARTS = 4
#: Tasks in a part, at most.
LARGEST_PART = 64
#: Seconds after which others do the work of a worker that has not started, and after which there must be one at all.
GRACE = 5.0
STARTING = 120.0
#: The longest wait before looking around again, in seconds.
TICK = 1.0

#: The stream that a task goes on with, and the task itself.
Task = tuple[int | None, bytes]


class Lost(Exception):
    """A worker is gone: killed, out of reach, or too slow."""


class Member(ABC):
    """One worker, as the pool sees it. It does one piece of work at a time."""

    def __init__(self) -> None:
        #: Whether it has yet to say that it is there, and since when.
        self.is_starting = True
        self.since = time.monotonic()
        #: The tasks it is at, by their places, and when they must be done.
        self.work: list[int] = []
        self.due = 0.0
        #: The policy that it plays by.
        self.policy: bytes | None = None

    @abstractmethod
    def greet(self) -> None:
        """Takes its word that it is there. Raises :class:`Lost`."""

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
    """Workers, of which there are always as many as were asked for, or as there is room for."""

    def __init__(self, count: int, timeout: float) -> None:
        self.count = count
        self._timeout = timeout
        self._members: list[Member] = []
        #: How many were ever started, and how many in a row were lost before they said a word.
        self._started = 0
        self._stillborn = 0
        self._heard = time.monotonic()
        #: How many were replaced, calls of :meth:`play`, and the bytes that went to workers and came back.
        self.replaced = 0
        self.batches = 0
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
        self.batches += 1
        self._heard = time.monotonic()
        while len(self._members) < self.count:
            self._members.append(self._another())
        batch = _Batch(policy, tasks, self.count)
        while batch.unanswered:
            if batch.open:
                self._hand_out(batch)
            self._listen(batch)
        return [answer for answer in batch.answers if answer is not None]

    def close(self) -> None:
        """Ends all workers."""
        members, self._members = self._members, []
        for member in members:
            member.stop()

    def _another(self) -> Member:
        self._started += 1
        return self._start(self._started)

    def _hand_out(self, batch: _Batch) -> None:
        now = time.monotonic()
        late = [i for i, member in enumerate(self._members) if member.is_starting and now > member.since + GRACE]
        for place, member in enumerate(self._members):
            if member.is_starting or member.work or not (work := batch.next(place, late)):
                continue
            is_new = member.policy != batch.policy
            payload = [batch.tasks[task][1] for task in work]
            member.work, member.policy = work, batch.policy
            member.due = time.monotonic() + self._timeout * len(work)
            self.sent += sum(map(len, payload)) + (len(batch.policy) if is_new else 0)
            try:
                member.send(batch.policy if is_new else None, payload)
            except Lost as lost:
                self._failed(place, lost, batch)

    def _listen(self, batch: _Batch) -> None:
        asked = [member for member in self._members if member.work or member.is_starting]
        due = min((member.due for member in asked if member.work), default=time.monotonic() + TICK)
        ready = set(map(id, self._ready(asked, max(0.0, min(TICK, due - time.monotonic())))))
        for place, member in enumerate(self._members):
            if id(member) in ready:
                try:
                    self._hear(place, member, batch)
                except Lost as lost:
                    self._failed(place, lost, batch)
            elif member.work and time.monotonic() >= member.due:
                self._failed(place, Lost(f"it did not answer within {self._timeout:g} seconds"), batch)
        if all(member.is_starting for member in self._members) and time.monotonic() > self._heard + STARTING:
            raise WorkerError(f"no worker has started within {STARTING:g} seconds; {self._room()}")

    def _hear(self, place: int, member: Member, batch: _Batch) -> None:
        if member.is_starting:
            member.greet()
            member.is_starting, self._stillborn = False, 0
        else:
            done, error = member.receive()
            self.received += sum(map(len, done))
            batch.take(member.work, done)
            member.work = member.work[len(done) :]
            if error is not None:
                self._failed(place, error, batch)
        self._heard = time.monotonic()

    def _room(self) -> str:
        """What may keep workers from starting."""
        return "see what they print"

    def _failed(self, place: int, error: Exception, batch: _Batch) -> None:
        """Replaces a worker and has its tasks done again, each by itself: one of several may be to blame."""
        member = self._members[place]
        if member.is_starting:
            self._stillborn += 1
            if self._stillborn >= MOST_FAILURES * self.count:
                raise WorkerError(f"no worker can be started: {error}; {self._room()}") from error
        elif member.work:
            # A worker that raises says in which task.
            batch.blame(member.work, error, is_known=not isinstance(error, Lost))
            batch.again(place, member.work)
        member.work = []
        member.stop()
        self.replaced += 1
        self._members[place] = self._another()


class _Batch:
    """Tasks that wait: streams for the worker that has them, the others for anyone."""

    def __init__(self, policy: bytes, tasks: list[Task], count: int) -> None:
        self.policy, self.tasks = policy, tasks
        self.answers: list[bytes | None] = [None] * len(tasks)
        self.unanswered = len(tasks)
        self._failures: Counter[int] = Counter()
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

    @property
    def open(self) -> bool:
        """Whether a task waits."""
        return bool(self._anyone) or any(self._own)

    def next(self, place: int, late: list[int]) -> list[int]:
        """What a worker is to do: its own tasks, those of anyone, or those of workers that are late."""
        queues = [self._own[place], self._anyone, *(self._own[other] for other in late)]
        return next((queue.popleft() for queue in queues if queue), [])

    def take(self, work: list[int], answers: list[bytes]) -> None:
        """Keeps the answers of the first tasks of a piece of work."""
        for task, answer in zip(work, answers, strict=False):
            self.answers[task] = answer
        self.unanswered -= len(answers)

    def again(self, place: int, work: list[int]) -> None:
        """Has tasks wait for the worker in this place, each by itself."""
        self._own[place].extendleft([task] for task in reversed(work))

    def blame(self, work: list[int], error: Exception, *, is_known: bool) -> None:
        """Counts a failure of a task, and ends the run if that is one too many."""
        if not is_known and len(work) > 1:
            return
        self._failures[work[0]] += 1
        if self._failures[work[0]] < MOST_FAILURES:
            return
        if is_known:
            raise error
        raise WorkerError(
            f"a worker was lost {MOST_FAILURES} times in the same episode: {error}; look for what ends it there "
            "(memory, a crash of the environment), or give it more time: timeout=..."
        ) from error


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
