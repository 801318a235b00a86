"""The program of a worker process: ``python -m appropo.workers.process SOCKET NUMBER``."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
import time

from .pool import sent
from .processes import receive, send
from .worker import Work


def main(number_of_socket: str, number: str) -> None:
    """Works until the other end of the socket is closed."""
    # Ctrl-C is for the program that started this one, which ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    with socket.socket(fileno=int(number_of_socket)) as connection:
        _, (recipe,) = receive(connection)
        work = Work(recipe, int(number))
        send(connection, False, [])
        while True:
            has_policy, parts = receive(connection)
            policy, tasks = (parts[0], parts[1:]) if has_policy else (None, parts)
            answers, error = work.play(policy, tasks)
            if error is not None:
                answers = [*answers, pickle.dumps(sent(error))]
            send(connection, error is not None, answers)


def end_with(parent: int) -> None:
    """Ends this process soon after the program that started it."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2])
    except (EOFError, ConnectionError):
        # Nobody is waiting any more.
        os._exit(0)
