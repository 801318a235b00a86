"""Studies on Ray whose workers are killed at random: is each solve run exactly once to its end?

    python bench/workers/study_on_ray.py [STUDIES]

Each of 5 studies has 4 runs, drawn by two tasks on a Ray cluster of this machine, whose worker processes are killed one
to three times; Ray begins their tasks anew. Exit status: 0 every run has one result, with the files of a study on
threads; 1 not. Needs Ray.
"""

import functools
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import appropo as ap
import world

SLEEPS = 0.0005
#: Files that tell the time, and the lock of whoever was there last.
TIMED = {"times.json", "report.html", "lock"}


def study(folder, make, **where):
    methods = {"ppo": ap.PPO(n_steps=32, net_arch=[32]), "prices": "lagrangian"}
    given = {"seeds": 2, "samples": 1000, "checkpoint_every": 0.2, "progress": False, **where}
    return ap.study(functools.partial(world.problem, make), methods, folder=folder, **given)


def runs(folder):
    """The files of each run that is in its place."""
    found = {}
    for result in folder.glob("*/*/*/result.json"):
        names = (path for path in result.parent.iterdir() if path.is_file() and path.name not in TIMED)
        found[str(result.parent.relative_to(folder))] = {path.name: path.read_bytes() for path in names}
    return found


def stages(folder):
    """How each claim ended."""
    claims = folder.glob(".study/*/*/*/claim-*.json")
    return [json.loads(claim.read_text() or '{"stage": "held"}')["stage"] for claim in claims]


def kill(pids, draw, ended, killed):
    """Kills workers that have begun to play."""
    for _ in range(draw.randint(1, 3)):
        while not (left := [path for path in pids.glob("pid-*") if path not in killed]):
            if ended.wait(0.01):
                return
        if ended.wait(draw.uniform(0.0, 1.0)):
            return
        killed.append(draw.choice(left))
        with suppress(ProcessLookupError):
            os.kill(int(killed[-1].name[4:]), signal.SIGKILL)


def main(studies):
    world.as_eager_as_processes()
    wrong = kills = claims = 0
    with tempfile.TemporaryDirectory() as place:
        study(Path(place, "whole"), world.Make(SLEEPS), where="threads")
        expected = runs(Path(place, "whole"))
        for number in range(studies):
            start, folder, pids = time.time(), Path(place, str(number)), Path(place, f"pids-{number}")
            pids.mkdir()
            ended, killed = threading.Event(), []
            thread = threading.Thread(target=kill, args=(pids, random.Random(number), ended, killed))
            thread.start()
            try:
                study(folder, world.Make(SLEEPS, folder=str(pids)), where=ap.Ray(2, num_cpus=0.25))
            finally:
                ended.set()
                thread.join()
            found, how = runs(folder), stages(folder)
            is_right = found == expected and how.count("beaten") == 0 and not list(folder.glob(".study/*/*/*/run-*"))
            wrong, kills, claims = wrong + (not is_right), kills + len(killed), claims + len(how)
            print(
                f"study {number + 1}: {len(killed)} kills, {len(how)} claims, {len(found)} of {len(expected)} runs, "
                f"each once and the same: {is_right}, {time.time() - start:.0f} s",
                flush=True,
            )
    print(f"{studies - wrong} of {studies} studies with {kills} kills and {claims} claims ran each solve exactly once")
    return wrong == 0


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
