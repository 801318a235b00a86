"""Runs whose workers are killed at random end in the same files as a run that nobody disturbed.

    python bench/workers/kills.py processes [RUNS]     50 runs, in each of which worker processes are killed
    python bench/workers/kills.py node [RUNS]          10 runs on a Ray cluster of two nodes, one of which is killed

Prints a line a run and how many were the same; exit status 0 if all were. The second needs Ray.
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

import appropo as ap
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


def kill_node(cluster, draw, done):
    """Kills the second node in the middle of a run, and starts another a while later."""
    node = cluster.add_node(num_cpus=1)
    if done.wait(draw.uniform(4.0, 9.0)):
        return 0
    cluster.remove_node(node, allow_graceful=False)
    if not done.wait(draw.uniform(1.0, 4.0)):
        cluster.add_node(num_cpus=1)
    return 1


def on_nodes(runs, expected):
    # A busy machine takes its time to start a node.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
    import ray
    from ray.cluster_utils import Cluster

    same = 0
    for run in range(runs):
        draw = random.Random(run)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        with tempfile.TemporaryDirectory() as folder:
            start, end = time.time(), during(kill_node, cluster, draw)
            try:
                workers = ap.Ray(num_workers=2, address=cluster.address)
                found = world.solved(Path(folder, "run"), world.Make(SLEEPS), workers=workers)
            finally:
                killed = end()
                ray.shutdown()
                cluster.shutdown()
        same += found == expected
        print(
            f"run {run + 1}: {killed} nodes killed, {time.time() - start:.0f} s, same: {found == expected}", flush=True
        )
    return same


if __name__ == "__main__":
    kind = sys.argv[1] if len(sys.argv) > 1 else ""
    if kind not in ("processes", "node"):
        sys.exit(__doc__)
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else {"processes": 50, "node": 10}[kind]
    with tempfile.TemporaryDirectory() as folder:
        expected = world.solved(Path(folder, "run"), world.Make(SLEEPS))
    same = (on_processes if kind == "processes" else on_nodes)(runs, expected)
    print(f"{same} of {runs} runs ended in the files of the undisturbed run")
    sys.exit(same != runs)
