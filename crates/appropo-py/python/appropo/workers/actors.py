"""Workers as actors of a Ray cluster."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from .cluster import LOST, PLAY, POLICY, START, STOP, Cluster
from .pool import Lost, Member, Pool, came, sent
from .recipe import Recipe
from .worker import Work

#: What can be done about a cluster that is gone.
GONE = "start it, or another, and go on with ap.resume(folder, problem, workers=...), there or on processes"


class ActorPool(Pool):
    """Worker actors."""

    def __init__(self, recipe: Recipe, count: int, timeout: float, address: str | None, num_cpus: float) -> None:
        super().__init__(count, timeout)
        self.cluster = Cluster(address, num_cpus, recipe.packed(), GONE)
        self._actors: dict[int, Actor] = {}
        self._policy: bytes | None = None

    def _start(self, number: int) -> Actor:
        actor = self._actors[number] = Actor(self, number)
        return actor

    def _ready(self, seconds: float) -> Sequence[Member]:
        heard = []
        for what, number, flag, parts in self.cluster.receive(seconds):
            actor = self._actors.get(number)
            # One that was ended may have said something before.
            if actor is not None:
                actor.said = what, flag, parts
                heard.append(actor)
        return heard

    def _room(self) -> str:
        had = f"the Ray cluster had {self.cluster.processors:g} processors in all"
        return f"{had}: ask for less by num_workers=... or num_cpus=..., or, if it is gone, {GONE}"

    def show(self, policy: bytes) -> None:
        """Puts a policy where all workers find it: it goes to each machine once."""
        if self._policy != policy:
            self.cluster.send(POLICY, 0, parts=[policy])
            self._policy = policy

    def forget(self, number: int) -> None:
        """Listens no more to an actor."""
        del self._actors[number]

    def close(self) -> None:
        # Actors end with the driver that began them.
        self._members = []
        self.cluster.close()


class Actor(Member):
    """A worker actor."""

    def __init__(self, pool: ActorPool, number: int) -> None:
        super().__init__()
        self._pool, self._number = pool, number
        #: Its last message.
        self.said: tuple[int, bool, list[bytes]] | None = None
        pool.cluster.send(START, number)

    def greet(self) -> None:
        self._heard()

    def send(self, policy: bytes | None, tasks: list[bytes]) -> None:
        if policy is not None:
            self._pool.show(policy)
        self._pool.cluster.send(PLAY, self._number, policy is not None, tasks)

    def receive(self) -> tuple[list[bytes], Exception | None]:
        has_failed, parts = self._heard()
        if not has_failed:
            return parts, None
        return parts[:-1], came(*pickle.loads(parts[-1]))

    def _heard(self) -> tuple[bool, list[bytes]]:
        assert self.said is not None, "it is ready"
        what, flag, parts = self.said
        if what == LOST:
            raise Lost(parts[0].decode())
        return flag, parts

    def stop(self) -> None:
        self._pool.forget(self._number)
        self._pool.cluster.send(STOP, self._number)


class Acting:
    """What an actor does. Numbers travel as arrays, which Ray does not pickle."""

    def __init__(self, recipe: Any, number: int) -> None:
        self._work = Work(recipe.tobytes(), number)

    def is_there(self) -> None:
        """Says so."""

    def play(self, policy: Any, tasks: list[bytes]) -> tuple[list[Any], bytes | None]:
        """Does tasks. What they raise is unpacked where the environment's module is known."""
        answers, error = self._work.play(None if policy is None else policy.tobytes(), tasks)
        arrays = [np.frombuffer(answer, np.uint8) for answer in answers]
        return arrays, None if error is None else pickle.dumps(sent(error))


def draw(packed: Any) -> tuple[list[Any], bytes | None]:
    """Draws runs of a study as one of several. What went wrong is returned as text."""
    from ..drawing import draw_packed, said

    try:
        draw_packed(packed.tobytes())
    except Exception as error:
        return [], said(error).encode()
    return [], None
