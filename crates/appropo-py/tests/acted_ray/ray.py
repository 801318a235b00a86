"""A stand-in for Ray, whose actors and tasks are threads. What is written in the folder ACTED_RAY befalls it."""

import os
import threading
from concurrent.futures import Future
from pathlib import Path


def is_so(fate, once=False):
    path = Path(os.environ["ACTED_RAY"], fate)
    found = path.exists()
    if found and once:
        path.unlink()
    return found


if is_so("not installed"):
    raise ImportError("no module named ray")


def init(address, **_):
    if is_so("nowhere"):
        raise ConnectionError("nobody is there")
    if is_so("deadly"):
        os._exit(1)


def cluster_resources():
    return {"CPU": 2.0}


def put(value):
    return value


def kill(actor):
    actor.is_dead = True


def cancel(reference):
    pass


def wait(references, num_returns, timeout):
    return references, []


def shutdown():
    pass


class Reference:
    """What is to come of a call."""

    def __init__(self, function, *arguments):
        if is_so("gone"):
            # As Ray does with a driver whose cluster is gone.
            os._exit(1)
        self._future = Future()
        threading.Thread(target=self._run, args=(function, arguments), daemon=True).start()

    def _run(self, function, arguments):
        if is_so("lost", once=True):
            self._future.set_exception(RuntimeError("The actor died"))
        else:
            self._future.set_result(function(*arguments))

    def future(self):
        return self._future


class Method:
    def __init__(self, function):
        self.remote = lambda *arguments: Reference(function, *arguments)


class Actor:
    def __init__(self, made):
        self.is_there, self.play = Method(made.is_there), Method(made.play)


def remote(**options):
    if "max_restarts" in options:
        return lambda kind: type("Remote", (), {"remote": staticmethod(lambda *given: Actor(kind(*given)))})
    return Method
