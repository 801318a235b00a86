"""Ray that is not there, or goes away in the middle of a run: what is said, and whether the run goes on elsewhere.

    python bench/workers/gone.py [RUNS]

Asks for a cluster at an address where there is none, and for an environment that can't be sent. Then, by turns, all
processes of a cluster, its raylet alone and its control service alone are killed in the middle of a run. Each must end
in an `ap.WorkerError`; the run is gone on with on worker processes, and must end in the files of one that nobody
disturbed. Prints a line each; exit status 0 if all did. Needs Ray.
"""

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
from ray.cluster_utils import Cluster

SLEEPS = 0.0005
#: Several rounds, so that some of them lie behind what is lost.
SETTINGS = {"samples": 8000, "player": "blackwell"}
PARTS = {"all of it": None, "its raylet": "raylet", "its control service": "gcs_server"}


def kill(node, part):
    """Kills processes of a node that this program started."""
    for name, processes in node.all_processes.items():
        for process in processes:
            if part in (None, name) and process.process.poll() is None:
                os.kill(process.process.pid, signal.SIGKILL)


def said(act):
    """The class and the text of the error of our own that an act ends in."""
    try:
        act()
    except ap.AppropoError as error:
        return f"{type(error).__name__}: {error}"
    return None


def without_cluster(make):
    """What is said where nothing can begin."""
    held = world.Slow()
    held.lock = threading.Lock()
    acts = {
        "no cluster": lambda: ap.solve(world.problem(make), workers=ap.Ray(2, address="127.0.0.1:1")),
        "no cluster of this machine": lambda: ap.solve(world.problem(make), workers=ap.Ray(2, address="auto")),
        "what can't be sent": lambda: ap.solve(world.problem(held), workers=ap.Ray(2)),
        "a study without cluster": lambda: ap.study(
            "mars-rover", seeds=1, folder=tempfile.mkdtemp(), where=ap.Ray(2, address="127.0.0.1:1")
        ),
    }
    wrong = 0
    for name, act in acts.items():
        start, found = time.time(), said(act)
        wrong += found is None
        print(f"{name}: {found} [{time.time() - start:.0f} s]", flush=True)
    return wrong


def goes_away(folder, make, name, draw, expected):
    """Kills a cluster in the middle of a run, and goes on with that on processes."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    killed = []

    def callback(line):
        if line["round"] == 1:
            # In the middle of one of the batches that follow.
            killed.append(threading.Timer(draw.uniform(0.0, 2.0), kill, (cluster.head_node, PARTS[name])))
            killed[0].start()
            killed.append(time.time())

    workers = ap.Ray(num_workers=2, address=cluster.address)
    try:
        found = said(lambda: world.solved(folder, make, workers=workers, callback=callback, **SETTINGS))
        seconds = time.time() - killed[1]
    finally:
        for timer in killed[:1]:
            timer.join()
        kill(cluster.head_node, None)
    kept = ap.load(folder, world.problem(make))
    again = world.resumed(folder, make, workers=draw.randint(1, 3))
    # Without its control service a cluster plays on for a minute, in which a run may come to its end.
    is_told = "the Ray cluster is gone" in found if found else name == "its control service" and kept.failure is None
    is_same = again == expected
    print(f"{name} is killed: {found} [{seconds:.0f} s]")
    print(f"  kept: {len(kept.policy)} policies, {kept.failure}; gone on with, same files: {is_same}", flush=True)
    return is_same and is_told


if __name__ == "__main__":
    world.as_eager_as_processes()
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    make, names = world.Make(SLEEPS), list(PARTS)
    wrong = without_cluster(make)
    with tempfile.TemporaryDirectory() as place:
        expected = world.solved(Path(place, "whole"), make, **SETTINGS)
        for run in range(runs):
            folder = Path(place, str(run))
            wrong += not goes_away(folder, make, names[run % len(names)], random.Random(run), expected)
    print(f"{wrong} of {runs + 4} went wrong")
    sys.exit(wrong > 0)
