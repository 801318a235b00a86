"""How exact planning grows: rovers on random maps with discount 0.999 and two constraints, solved, recorded and verified.

    python3 bench/scale.py [SIDES...]        maps of 100, 300, 1000 and 3000 cells a side unless named

Prints one row a map, then how much longer 100 by 100 takes with value iteration and as one conic programme by Clarabel.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("APPROPO_PROGRAM", ROOT / "target/release/appropo")
DISCOUNT = 0.999
PROBLEM = """discount = {discount}

[environment]
name = "mars-rover"
map = {{ rows = {side}, columns = {side}, rocks = 0.05, seed = {seed} }}
slip = 0.05

[[constraint]]
name = "safety"
measure = "failure"
at_most = 0.1

[[constraint]]
name = "speed"
measure = "reward"
at_least = {reward}
"""


def problem(side, folder, seed=1):
    """The reward leaves room for a detour of a tenth of the shortest way; far from the goal it takes some risk."""
    worst = -0.01 / (1 - DISCOUNT)
    shortest = worst * (1 - DISCOUNT ** (2 * side))
    path = folder / f"rover-{side}.toml"
    reward = max(1.1 * shortest, 0.93 * worst)
    path.write_text(PROBLEM.format(side=side, seed=seed, discount=DISCOUNT, reward=round(reward, 4)))
    return path


def run(*arguments):
    """Seconds on the clock, seconds of all threads, peak memory in MB, and what was printed."""
    start = time.monotonic()
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode, text


def main():
    sides = [int(side) for side in sys.argv[1:]] or [100, 300, 1000, 3000]
    print("side   cells      solve s   cpu s     MB   calls  verdict      verify s   cpu s     MB   cpu us a cell")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for side in sides:
            path = problem(side, folder)
            seconds, cpu, memory, _, text = run("solve", path, "--run", folder / f"run-{side}", "--json")
            outcome = json.loads(text)
            check = run("verify", folder / f"run-{side}")
            assert check[3] == 0, f"the run of side {side} is not verified"
            print(
                f"{side:<6} {side * side:<9} {seconds:8.2f} {cpu:8.2f} {memory:6.0f} {outcome['oracle_calls']:5}  "
                f"{outcome['verdict']:<11} {check[0]:9.2f} {check[1]:8.2f} {check[2]:6.0f} {1e6 * cpu / side**2:11.1f}",
                flush=True,
            )
        path = problem(100, folder)
        ours = min(run("solve", path)[1] for _ in range(3))
        for name, options in [
            ("value iteration", ["--set", "exact.planner=value-iteration"]),
            ("Clarabel", ["--method", "occupancy"]),
        ]:
            print(f"{run('solve', path, *options)[1] / ours:.1f} times as long by {name}, 100 by 100")


if __name__ == "__main__":
    main()
