"""Two machines draw from the folder of one study and are killed at random: is each solve run exactly once to its end?

Usage: bench/study_kills.py [--studies N] [--seed N]
Exit status: 0 every run of every study has one result, with the files of an undisturbed one; 1 not.

The two processes pass for two machines: neither can ask the system whether the other is alive, so that claims are taken
over by their age alone. Each is killed and started again at random moments, until it is left to come to the end.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.program import PROGRAM  # noqa: E402

# Planned and learnt, with rounds and within one call, ended by the model and by fresh episodes.
PROBLEMS = ["mars-rover-diverse", "cart-pole"]
METHODS = ["appropo:ppo", "lagrangian", "cpo"]
SEEDS = 2
SAMPLES = 4_000
# Files that tell the time, and the lock of whoever was there last.
TIMED = {"times.json", "report.html", "lock"}
EXPIRE = 2
MACHINES = ["first", "second"]


def command(folder):
    arguments = ["compare", *PROBLEMS, "--methods", ",".join(METHODS), "--seeds", str(SEEDS), "--samples", str(SAMPLES)]
    arguments += ["--out", str(folder), "--threads", "1", "--checkpoint-every", "0", "--expire-after", str(EXPIRE)]
    return [PROGRAM, *arguments]


def start(folder, machine):
    environment = {**os.environ, "APPROPO_MACHINE": machine}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command(folder), env=environment, **quiet)


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


def killed(folder, rng, usual, kills):
    """Two machines that are killed so often in all, and then come to the end. Returns how many kills there were."""
    processes = {machine: start(folder, machine) for machine in MACHINES}
    ends = {machine: time.monotonic() + 0.5 * usual * rng.random() for machine in MACHINES}
    count = 0
    while processes:
        time.sleep(0.002)
        for machine, process in list(processes.items()):
            if process.poll() is not None:
                if process.returncode not in (0, 3, 4):
                    sys.exit(f"{machine} ended with {process.returncode}: {process.stderr.read().decode()}")
                processes.pop(machine)
            elif count < kills and time.monotonic() > ends[machine]:
                process.kill()
                process.wait()
                count += 1
                processes[machine] = start(folder, machine)
                ends[machine] = time.monotonic() + 0.5 * usual * rng.random()
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    place = Path(tempfile.mkdtemp())
    try:
        begin = time.monotonic()
        alone = start(place / "whole", "alone")
        alone.communicate()
        usual, whole = time.monotonic() - begin, runs(place / "whole")
        if len(whole) != len(PROBLEMS) * len(METHODS) * SEEDS:
            sys.exit(f"{len(whole)} runs were undisturbed")
        print(f"undisturbed: {len(whole)} runs in {usual:.1f} s by one process")
        kills, claims, lost, changed, twice, left = 0, 0, 0, 0, 0, 0
        for number in range(arguments.studies):
            folder = place / str(number)
            kills += killed(folder, rng, usual, rng.randint(1, 6))
            found, ended = runs(folder), stages(folder)
            claims += len(ended)
            lost += len(whole.keys() - found.keys())
            changed += sum(found[name] != whole[name] for name in whole.keys() & found.keys())
            # A claim that came to the end of its solve after another had.
            twice += ended.count("beaten")
            left += sum(1 for _ in folder.glob(".study/*/*/*/run-*"))
            shutil.rmtree(folder)
            print(
                f"study {number + 1}: {kills} kills so far, {lost} lost, {twice} twice, {changed} changed", flush=True
            )
        total = len(whole) * arguments.studies
        print(f"{arguments.studies} studies of two machines, {kills} kills, {claims} claims")
        print(f"{total - lost} of {total} runs have one result, {lost} lost, {twice} solved twice")
        print(f"{changed} with other files than undisturbed, {left} remains of work")
        return lost + changed + twice + left > 0
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
