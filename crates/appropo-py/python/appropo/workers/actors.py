"""Workers as actors of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from .._appropo import WorkerError
from .pool import Lost, Member, Pool, came, sent
from .recipe import Recipe
from .worker import Work

#: What can be done about a cluster that is gone.
GONE = "start it, or another, and go on with ap.resume(folder, problem, workers=...)"


class ActorPool(Pool):
    """Worker actors."""

    def __init__(self, recipe: Recipe, count: int, timeout: float, address: str | None, num_cpus: float) -> None:
        try:
            import ray
        except ImportError:
            raise WorkerError("Ray is not here; install appropo[ray], or use ap.Processes(...)") from None
        super().__init__(count, timeout)
        self._ray: Any = ray
        packed = recipe.packed()
        #: A cluster that was started for this pool ends with it.
        self._is_own = not ray.is_initialized()
        if self._is_own:
            # A driver that loses its cluster is otherwise ended by Ray within a minute, with nothing said.
            os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "3600")
            try:
                ray.init(address=address, include_dashboard=None if address else False, log_to_driver=False)
            except Exception as error:
                # What a cluster that is not there raises depends on Ray's version.
                raise WorkerError(
                    f"there is no Ray cluster at {address!r} ({error}); start one with `ray start --head` and name its "
                    "address, or leave address out for one on this machine"
                ) from error
        self._room_there = ray.cluster_resources().get("CPU", 0.0)
        self._recipe = ray.put(np.frombuffer(packed, np.uint8))
        self._actor: Any = ray.remote(num_cpus=num_cpus, max_restarts=0)(Acting)
        self._policy: tuple[bytes, Any] | None = None

    def _start(self, number: int) -> Actor:
        try:
            return Actor(self, self._actor.remote(self._recipe, number))
        except Exception as error:
            # As above.
            raise WorkerError(f"the Ray cluster is gone ({error}); {GONE}") from error

    def _ready(self, members: Collection[Member], seconds: float) -> Sequence[Member]:
        of = {member.answer: member for member in members if isinstance(member, Actor)}
        if not of:
            return []
        try:
            found, rest = self._ray.wait(list(of), num_returns=1, timeout=seconds)
            if found and rest:
                found += self._ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        except self._ray.exceptions.RayError as error:
            raise WorkerError(f"the Ray cluster is gone ({error}); {GONE}") from error
        return [of[answer] for answer in found]

    def _room(self) -> str:
        had = f"the Ray cluster had {self._room_there:g} processors in all"
        return f"{had}: ask for less by num_workers=... or num_cpus=..., or, if it is gone, {GONE}"

    def put(self, policy: bytes) -> Any:
        """A policy where all workers find it: it goes to each machine once."""
        if self._policy is None or self._policy[0] != policy:
            self._policy = policy, self._ray.put(np.frombuffer(policy, np.uint8))
        return self._policy[1]

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self._is_own:
                self._ray.shutdown()


class Actor(Member):
    """A worker actor."""

    def __init__(self, pool: ActorPool, actor: Any) -> None:
        super().__init__()
        self._pool, self._actor = pool, actor
        #: What it is to answer next.
        self.answer: Any = actor.is_there.remote()

    def greet(self) -> None:
        self._get()

    def send(self, policy: bytes | None, tasks: list[bytes]) -> None:
        held = None if policy is None else self._pool.put(policy)
        try:
            self.answer = self._actor.play.remote(held, tasks)
        except self._pool._ray.exceptions.RayError as error:
            raise Lost(_first_line(error)) from error

    def receive(self) -> tuple[list[bytes], Exception | None]:
        answers, failed = self._get()
        return [answer.tobytes() for answer in answers], None if failed is None else came(*failed)

    def _get(self) -> Any:
        try:
            return self._pool._ray.get(self.answer)
        except self._pool._ray.exceptions.RayError as error:
            raise Lost(_first_line(error)) from error

    def stop(self) -> None:
        ray = self._pool._ray
        if ray.is_initialized():
            ray.kill(self._actor)


class Acting:
    """What an actor does. Numbers travel as arrays, which Ray does not pickle."""

    def __init__(self, recipe: Any, number: int) -> None:
        self._work = Work(recipe.tobytes(), number)

    def is_there(self) -> None:
        """Says so."""

    def play(self, policy: Any, tasks: list[bytes]) -> tuple[list[Any], Any]:
        """Does tasks."""
        answers, error = self._work.play(None if policy is None else policy.tobytes(), tasks)
        return [np.frombuffer(answer, np.uint8) for answer in answers], None if error is None else sent(error)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
