"""Workers as processes of this machine, each at the other end of a socket."""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence

from .._appropo import ProblemError, WorkerError
from .pool import Lost, Member, Pool, came
from .recipe import Recipe

#: How a message begins: whether a policy comes with it, how many parts there are, and the length of each.
COUNT = struct.Struct("<?I")
#: Seconds for a worker that has nothing to do to take what it is sent.
SENDING = 60.0


class ProcessPool(Pool):
    """Worker processes."""

    def __init__(self, recipe: Recipe, count: int, timeout: float) -> None:
        if os.name != "posix":
            raise ProblemError("worker processes need Linux or macOS; use ap.Ray(num_workers=...)")
        super().__init__(count, timeout)
        self._recipe = recipe.packed()
        self._sockets = selectors.DefaultSelector()

    def _start(self, number: int) -> Process:
        return Process(self._recipe, number, self._sockets)

    def _ready(self, seconds: float) -> Sequence[Member]:
        # Also those that have nothing to do, and are gone.
        return [key.data for key, _ in self._sockets.select(seconds)]

    def close(self) -> None:
        super().close()
        self._sockets.close()


class Process(Member):
    """A worker process."""

    def __init__(self, recipe: bytes, number: int, sockets: selectors.BaseSelector) -> None:
        super().__init__()
        self._sockets = sockets
        self.socket, theirs = socket.socketpair()
        command = [sys.executable, "-m", "appropo.workers.process", str(theirs.fileno()), str(number)]
        try:
            with theirs:
                self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        except OSError as error:
            self.socket.close()
            raise WorkerError(f"a worker process can't be started: {error}") from error
        sockets.register(self.socket, selectors.EVENT_READ, self)
        self.socket.settimeout(SENDING)
        with contextlib.suppress(OSError):
            send(self.socket, False, [recipe])

    def greet(self) -> None:
        try:
            receive(self.socket)
        except (OSError, EOFError) as error:
            raise Lost(self._fate(error)) from error

    def send(self, policy: bytes | None, tasks: list[bytes]) -> None:
        try:
            send(self.socket, policy is not None, tasks if policy is None else [policy, *tasks])
        except OSError as error:
            raise Lost(self._fate(error)) from error

    def receive(self) -> tuple[list[bytes], Exception | None]:
        try:
            has_failed, parts = receive(self.socket)
        except (OSError, EOFError) as error:
            raise Lost(self._fate(error)) from error
        if not has_failed:
            return parts, None
        return parts[:-1], came(*pickle.loads(parts[-1]))

    def _fate(self, error: Exception) -> str:
        """What became of it."""
        try:
            status = self.process.wait(1.0)
        except subprocess.TimeoutExpired:
            return f"it does not answer ({error})"
        return f"it was killed by signal {-status}" if status < 0 else f"it ended with status {status}"

    def stop(self) -> None:
        self._sockets.unregister(self.socket)
        self.socket.close()
        self.process.kill()
        self.process.wait()


def send(to: socket.socket, flag: bool, parts: list[bytes]) -> None:
    """Sends a message."""
    lengths = struct.pack(f"<{len(parts)}Q", *map(len, parts))
    to.sendall(b"".join([COUNT.pack(flag, len(parts)), lengths, *parts]))


def receive(of: socket.socket) -> tuple[bool, list[bytes]]:
    """Receives a message."""
    flag, count = COUNT.unpack(_exactly(of, COUNT.size))
    lengths = struct.unpack(f"<{count}Q", _exactly(of, 8 * count))
    whole = memoryview(_exactly(of, sum(lengths)))
    parts, start = [], 0
    for length in lengths:
        parts.append(bytes(whole[start : start + length]))
        start += length
    return flag, parts


def _exactly(of: socket.socket, count: int) -> bytearray:
    found = bytearray(count)
    rest = memoryview(found)
    while rest:
        got = of.recv_into(rest)
        if got == 0:
            raise EOFError("the connection was closed")
        rest = rest[got:]
    return found
