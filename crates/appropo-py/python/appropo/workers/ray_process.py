"""The program that speaks to Ray for another: ``python -m appropo.workers.ray_process SOCKET``."""

from __future__ import annotations

import os
import pickle
import queue
import socket
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from .actors import Acting, draw
from .cluster import DONE, DRAW, HEAD, LOST, NOT_HERE, PLAY, POLICY, START, START_ONE, STOP
from .process import end_with
from .processes import receive, send

#: Seconds that tasks have to end by themselves.
GRACE = 10.0
#: Seconds for a machine to answer at all.
REACHING = 20.0


def main(number_of_socket: str) -> None:
    """Asks Ray for what it is told to, until the other end of the socket is closed."""
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    with socket.socket(fileno=int(number_of_socket)) as connection:
        _, (asked, payload) = receive(connection)
        address, num_cpus, runtime_env = pickle.loads(asked)
        try:
            import ray
        except ImportError:
            _welcome(connection, NOT_HERE)
            return
        try:
            _reach(address)
            # Without "local", Ray goes to any cluster that someone has started on this machine.
            settings = {"include_dashboard": False} if address is None else {}
            ray.init(address=address or "local", log_to_driver=False, runtime_env=runtime_env, **settings)
            session = Session(ray, connection, num_cpus, payload)
        except Exception as error:
            # What a cluster that is not there raises depends on Ray's version.
            _welcome(connection, f"there is no Ray cluster at {address!r} ({_shown(error)}); {START_ONE}")
            return
        _welcome(connection, None, ray.cluster_resources().get("CPU", 0.0))
        try:
            while True:
                flag, (head, *parts) = receive(connection)
                what, number = HEAD.unpack(head)
                session.asked(what, number, flag, parts)
        except (EOFError, ConnectionError):
            # Nobody is waiting any more.
            session.close()
            ray.shutdown()


def _reach(address: str | None) -> None:
    """Raises where nobody listens: Ray tries for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), REACHING).close()


def _welcome(connection: socket.socket, error: str | None, processors: float = 0.0) -> None:
    send(connection, False, [pickle.dumps((processors, error))])


class Session:
    """Actors and tasks on Ray, by their numbers."""

    def __init__(self, ray: Any, connection: socket.socket, num_cpus: float, payload: bytes) -> None:
        self._ray, self._connection = ray, connection
        self._payload = ray.put(np.frombuffer(payload, np.uint8))
        self._policy: Any = None
        self._acting: Any = ray.remote(num_cpus=num_cpus, max_restarts=0)(Acting)
        # Ray begins a task anew whose worker is killed; what it had begun is taken over by its claims.
        self._draw: Any = ray.remote(num_cpus=num_cpus, max_retries=-1)(draw)
        self._actors: dict[int, Any] = {}
        self._tasks: dict[int, Any] = {}
        #: Ray's own threads tell of what is done, and must not wait for whoever reads it.
        self._told: queue.SimpleQueue[tuple[int, int, bool, Sequence[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._tell, daemon=True).start()

    def asked(self, what: int, number: int, flag: bool, parts: list[bytes]) -> None:
        """Has Ray do something."""
        if what == POLICY:
            self._policy = self._ray.put(np.frombuffer(parts[0], np.uint8))
        elif what == START:
            actor = self._actors[number] = self._acting.remote(self._payload, number)
            self._await(number, actor.is_there.remote())
        elif what == PLAY:
            self._await(number, self._actors[number].play.remote(self._policy if flag else None, parts))
        elif what == STOP:
            self._ray.kill(self._actors.pop(number))
        elif what == DRAW:
            self._tasks[number] = self._draw.remote(self._payload)
            self._await(number, self._tasks[number])

    def close(self) -> None:
        """Has tasks that are under way write their checkpoints."""
        if self._tasks:
            for task in self._tasks.values():
                self._ray.cancel(task)
            self._ray.wait(list(self._tasks.values()), num_returns=len(self._tasks), timeout=GRACE)

    def _await(self, number: int, reference: Any) -> None:
        reference.future().add_done_callback(lambda future: self._done(number, future))

    def _done(self, number: int, future: Any) -> None:
        error = future.exception()
        if error is not None:
            self._told.put((LOST, number, False, [_shown(error).encode()]))
            return
        answers, failed = future.result() or ([], None)
        self._told.put((DONE, number, failed is not None, answers if failed is None else [*answers, failed]))

    def _tell(self) -> None:
        while True:
            what, number, flag, parts = self._told.get()
            try:
                send(self._connection, flag, [HEAD.pack(what, number), *parts])
            except OSError:
                return


def _shown(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


if __name__ == "__main__":
    main(sys.argv[1])
