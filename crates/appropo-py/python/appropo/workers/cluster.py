"""A Ray cluster, as this program sees it: through a process of its own, since Ray ends every process that loses it."""

from __future__ import annotations

import pickle
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from .._appropo import WorkerError
from .processes import receive, send

#: How a message begins: what it says, and of whom.
HEAD = struct.Struct("<BQ")
#: Here is a policy; begin an actor; have an actor play; end an actor; have a task draw runs of a study.
POLICY, START, PLAY, STOP, DRAW = range(5)
#: What became of the last that was asked of someone: it is done, or whoever was to do it is lost.
DONE, LOST = range(2)

#: Seconds to reach a cluster, to start one, to have it take a message, and to leave it.
CONNECTING = 60.0
STARTING = 300.0
SENDING = 60.0
LEAVING = 20.0

Message = tuple[int, int, bool, list[bytes]]


class Cluster:
    """A connection to a Ray cluster whose actors and tasks are all given the same ``payload``.

    ``instead`` says what to do once the cluster is gone. Raises :class:`WorkerError` for whatever is wrong with it.
    """

    def __init__(self, address: str | None, num_cpus: float, payload: bytes, instead: str) -> None:
        self._instead = instead
        self._socket, theirs = socket.socketpair()
        command = [sys.executable, "-m", "appropo.workers.ray_process", str(theirs.fileno())]
        with theirs:
            # A session of its own: Ctrl-C is for this program, which ends that one.
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            address, runtime_env = _there_already(address)
            self._socket.settimeout(CONNECTING if address else STARTING)
            send(self._socket, False, [pickle.dumps((address, num_cpus, runtime_env)), payload])
            _, (welcome,) = receive(self._socket)
            self.processors, error = pickle.loads(welcome)
        except (OSError, EOFError):
            self.processors, error = 0.0, f"there is no Ray cluster at {address!r} ({self._fate()}); {START_ONE}"
        except BaseException:
            self._end()
            raise
        if error is not None:
            self._end()
            raise WorkerError(error)
        self._socket.settimeout(SENDING)

    def send(self, what: int, number: int, flag: bool = False, parts: Sequence[bytes] = ()) -> None:
        """Asks for something of whoever has this number."""
        try:
            send(self._socket, flag, [HEAD.pack(what, number), *parts])
        except OSError as error:
            raise self._gone() from error

    def receive(self, seconds: float) -> list[Message]:
        """What came of it, after waiting for the first."""
        poll = select.poll()
        found: list[Message] = []
        poll.register(self._socket, select.POLLIN)
        while poll.poll(0.0 if found else 1000.0 * seconds):
            try:
                flag, (head, *parts) = receive(self._socket)
            except (OSError, EOFError) as error:
                raise self._gone() from error
            what, number = HEAD.unpack(head)
            found.append((what, number, flag, parts))
        return found

    def close(self) -> None:
        """Leaves the cluster; one that was started for this program ends."""
        self._socket.close()
        try:
            self.process.wait(LEAVING)
        except subprocess.TimeoutExpired:
            self._end()

    def _end(self) -> None:
        self._socket.close()
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _gone(self) -> WorkerError:
        return WorkerError(f"the Ray cluster is gone ({self._fate()}); {self._instead}")

    def _fate(self) -> str:
        """What became of the process that spoke to it."""
        try:
            status = self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            return "Ray does not answer"
        return f"Ray ended its driver with {'signal' if status < 0 else 'status'} {abs(status)}"


#: What to do where there is no cluster.
START_ONE = "start one with `ray start --head` and name its address, or leave address out for one on this machine"
NOT_HERE = "Ray is not here; install appropo[ray], or use processes instead"


def _there_already(address: str | None) -> tuple[str | None, Any]:
    """The cluster that this program is connected to itself, with what it told Ray about its workers."""
    ray: Any = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return address, None
    context = ray.get_runtime_context()
    return context.gcs_address, dict(context.runtime_env)
