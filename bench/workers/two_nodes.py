"""A Ray cluster of two nodes on this machine, one of which is killed in the middle of a run.

    python bench/workers/two_nodes.py [RUNS]

Workers that were there are replaced, their streams go back to the start of their episodes, and the run ends in the
files of one that nobody disturbed. Prints a line for each of 10 runs, and how many were the same; exit status 0 if all
were. Needs Ray.
"""

import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import appropo as ap
import world
from ray.cluster_utils import Cluster

SLEEPS = 0.001


def disturbed(folder, draw):
    """A run that loses a node once both workers play; its files, and whether it was still going on by then."""
    pids = Path(folder, "workers")
    pids.mkdir()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    ended, killed = threading.Event(), []

    def kill():
        while len(list(pids.glob("pid-*"))) < 2:
            if ended.wait(0.01):
                return
        if not ended.wait(draw.uniform(0.0, 2.0)):
            killed.append(second)
            cluster.remove_node(second, allow_graceful=False)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        workers = ap.Ray(num_workers=2, address=cluster.address)
        found = world.solved(Path(folder, "run"), world.Make(SLEEPS, folder=str(pids)), workers=workers)
    finally:
        ended.set()
        thread.join()
        cluster.shutdown()
    return found, bool(killed)


def main(runs):
    world.as_eager_as_processes()
    with tempfile.TemporaryDirectory() as folder:
        expected = world.solved(Path(folder, "alone"), world.Make(SLEEPS))
    same = 0
    for run in range(runs):
        start = time.time()
        with tempfile.TemporaryDirectory() as folder:
            found, was_killed = disturbed(folder, random.Random(run))
        is_same = found == expected and was_killed
        same += is_same
        print(f"run {run + 1}: a node killed: {was_killed}, {time.time() - start:.0f} s, same: {is_same}", flush=True)
    print(f"{same} of {runs} runs that lost a node ended in the files of the undisturbed run")
    return same == runs


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
