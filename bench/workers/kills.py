"""Runs whose workers are killed at random end in the same files as a run that nobody disturbed.

    python bench/workers/kills.py [RUNS]

In each of 50 runs one to six worker processes are killed. Prints a line a run and how many were the same; exit status 0
if all were. `two_nodes.py` does so with a node of a Ray cluster.
"""

import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import world

#: Seconds of a step, so that kills fall into batches.
SLEEPS = 0.0005


def kill_processes(workers, draw, done):
    """Kills worker processes now and then, up to six of them; returns how many."""
    killed, most = [], draw.randint(1, 6)
    while len(killed) < most and not done.wait(draw.uniform(0.3, 3.0)):
        there = [int(path.name[4:]) for path in workers.glob("pid-*")]
        left = [pid for pid in there if pid not in killed]
        if left:
            killed.append(draw.choice(left))
            with contextlib.suppress(ProcessLookupError):
                os.kill(killed[-1], signal.SIGKILL)
    return len(killed)


def during(kill, *arguments):
    """Runs `kill` beside what follows, until it is told to end."""
    done, found = threading.Event(), []
    thread = threading.Thread(target=lambda: found.append(kill(*arguments, done)))
    thread.start()

    def end():
        done.set()
        thread.join()
        return found[0]

    return end


def on_processes(runs, expected):
    same = 0
    for run in range(runs):
        draw = random.Random(run)
        with tempfile.TemporaryDirectory() as folder:
            pids = Path(folder, "workers")
            pids.mkdir()
            start, end = time.time(), during(kill_processes, pids, draw)
            try:
                found = world.solved(Path(folder, "run"), world.Make(SLEEPS, folder=str(pids)), workers=2)
            finally:
                killed = end()
        same += found == expected
        print(f"run {run + 1}: {killed} kills, {time.time() - start:.0f} s, same: {found == expected}", flush=True)
    return same


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        expected = world.solved(Path(folder, "run"), world.Make(SLEEPS))
    same = on_processes(runs, expected)
    print(f"{same} of {runs} runs ended in the files of the undisturbed run")
    sys.exit(same != runs)
