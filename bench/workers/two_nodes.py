"""A Ray cluster of two nodes on this machine, one of which is killed in the middle of a run.

    python bench/workers/two_nodes.py

The worker that was there is replaced, its streams go back to the start of their episodes, and the run ends in the files
of one that nobody disturbed. Needs Ray.
"""

import tempfile
import threading
import time
from pathlib import Path

import appropo as ap
import ray
import world
from ray.cluster_utils import Cluster


def main() -> None:
    make = world.Make(sleeps=0.002)
    with tempfile.TemporaryDirectory() as folder:
        alone = world.solved(Path(folder, "alone"), make)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        second = cluster.add_node(num_cpus=1)

        def kill() -> None:
            print("killing the second node")
            cluster.remove_node(second, allow_graceful=False)

        timer, start = threading.Timer(5.0, kill), time.time()
        timer.start()
        try:
            workers = ap.Ray(num_workers=2, address=cluster.address)
            disturbed = world.solved(Path(folder, "disturbed"), make, workers=workers)
        finally:
            timer.cancel()
            timer.join()
            ray.shutdown()
            cluster.shutdown()
    print(f"{time.time() - start:.0f} seconds; the same files: {alone == disturbed}")


if __name__ == "__main__":
    main()
