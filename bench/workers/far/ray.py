"""A stand-in for Ray whose actors are far away: answers come when their time is up, and nothing is played.

FAR says, in seconds, how far they are at most, what they take for what they are asked, and what Ray itself takes for a
message and its answer; then how long an answer is, in bytes.
"""

import heapq
import itertools
import os
import random
import threading
import time
from concurrent.futures import Future

import numpy as np

AWAY, WORK, COST, LENGTH = map(float, os.environ["FAR"].split())
ANSWER = np.zeros(int(LENGTH), np.uint8)

due, number, changed = [], itertools.count(), threading.Condition()


def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def answer():
    while True:
        with changed:
            while not due or due[0][0] > time.perf_counter():
                changed.wait(due[0][0] - time.perf_counter() if due else None)
            _, _, future, result = heapq.heappop(due)
        spend(COST / 2)
        future.set_result(result)


threading.Thread(target=answer, daemon=True).start()


class Reference:
    def __init__(self, seconds, result):
        self._future = Future()
        spend(COST / 2)
        with changed:
            heapq.heappush(due, (time.perf_counter() + seconds, next(number), self._future, result))
            changed.notify()

    def future(self):
        return self._future


class Method:
    def __init__(self, remote):
        self.remote = remote


class Actor:
    is_there = Method(lambda: Reference(0.0, None))
    # No two are as far: answers come one by one.
    play = Method(
        lambda _, tasks: Reference(AWAY * random.uniform(0.5, 1.0) + WORK * len(tasks), ([ANSWER for _ in tasks], None))
    )


def remote(**_):
    return lambda _: Method(lambda *_: Actor())


def init(**_):
    pass


def cluster_resources():
    return {}


def put(value):
    return value


def kill(_):
    pass


def shutdown():
    pass
