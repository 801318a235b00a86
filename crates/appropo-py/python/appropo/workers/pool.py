"""Who plays what, and what happens when one of them is lost."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Sequence
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

    #: Its place among the pool's.
    place: int

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
        #: Those that something is to be heard of. What is done for a message must not take longer with more workers.
        self._open: dict[Member, None] = {}
        #: When all of them are looked at again, whether or not they say something.
        self._look = 0.0
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
    def _ready(self, seconds: float) -> Sequence[Member]:
        """Those that have something to say, or are gone, after waiting for the first of them."""

    def play(self, policy: bytes, tasks: list[Task]) -> list[bytes]:
        """Has every task done by some worker that has the policy. Answers are in the order of the tasks."""
        self.batches += 1
        self._heard = time.monotonic()
        while len(self._members) < self.count:
            self._members.append(self._another(len(self._members)))
        batch = _Batch(policy, tasks, self.count)
        free: Iterable[Member] = list(self._members)
        while batch.unanswered:
            for member in free:
                self._hand_out(member, [], batch)
            free = self._listen(batch)
        return [answer for answer in batch.answers if answer is not None]

    def close(self) -> None:
        """Ends all workers."""
        members, self._members = self._members, []
        self._open.clear()
        for member in members:
            member.stop()

    def _another(self, place: int) -> Member:
        self._started += 1
        member = self._start(self._started)
        member.place = place
        self._open[member] = None
        return member

    def _hand_out(self, member: Member, late: list[int], batch: _Batch) -> None:
        is_gone = self._members[member.place] is not member
        if is_gone or member.is_starting or member.work or not (work := batch.next(member.place, late)):
            return
        is_new = member.policy != batch.policy
        payload = [batch.tasks[task][1] for task in work]
        member.work, member.policy = work, batch.policy
        member.due = time.monotonic() + self._timeout * len(work)
        self._open[member] = None
        self.sent += sum(map(len, payload)) + (len(batch.policy) if is_new else 0)
        try:
            member.send(batch.policy if is_new else None, payload)
        except Lost as lost:
            self._failed(member, lost, batch)

    def _listen(self, batch: _Batch) -> Iterable[Member]:
        """Hears of workers, and returns those that may be free."""
        heard = self._ready(max(0.0, min(TICK, self._look - time.monotonic())))
        for member in heard:
            try:
                self._hear(member, batch)
            except Lost as lost:
                self._failed(member, lost, batch)
        return heard if time.monotonic() < self._look else self._look_around(batch)

    def _look_around(self, batch: _Batch) -> Iterable[Member]:
        """Replaces those that take too long, and has others do the work of those that have not started."""
        now = time.monotonic()
        for member in list(self._members):
            if member.work and now >= member.due:
                self._failed(member, Lost(f"it did not answer within {self._timeout:g} seconds"), batch)
        starting = [member for member in self._members if member.is_starting]
        if len(starting) == self.count and now > self._heard + STARTING:
            raise WorkerError(f"no worker has started within {STARTING:g} seconds; {self._room()}")
        late = [member.place for member in starting if now > member.since + GRACE]
        for member in self._members:
            self._hand_out(member, late, batch)
        self._look = min([now + TICK, *(member.due for member in self._open if member.work)])
        return self._members

    def _hear(self, member: Member, batch: _Batch) -> None:
        if member.is_starting:
            member.greet()
            member.is_starting, self._stillborn = False, 0
            del self._open[member]
        else:
            done, error = member.receive()
            self.received += sum(map(len, done))
            batch.take(member.work, done)
            member.work = member.work[len(done) :]
            if error is not None:
                self._failed(member, error, batch)
            else:
                del self._open[member]
        self._heard = time.monotonic()

    def _room(self) -> str:
        """What may keep workers from starting."""
        return "see what they print"

    def _failed(self, member: Member, error: Exception, batch: _Batch) -> None:
        """Replaces a worker and has its tasks done again, each by itself: one of several may be to blame."""
        if member.is_starting:
            self._stillborn += 1
            if self._stillborn >= MOST_FAILURES * self.count:
                raise WorkerError(f"no worker can be started: {error}; {self._room()}") from error
        elif member.work:
            # A worker that raises says in which task.
            batch.blame(member.work, error, is_known=not isinstance(error, Lost))
            batch.again(member.place, member.work)
        member.work = []
        self._open.pop(member, None)
        member.stop()
        self.replaced += 1
        self._members[member.place] = self._another(member.place)
        # Others may have to do its work for a while.
        self._look = min(self._look, time.monotonic() + GRACE)


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
