"""Learning from logs on the 8×8 frozen lake without slip: how many logged episodes it takes.

The problem is to reach the goal, at discount 0.9, with at most 0.1 of the hole cost. Logs are of actions drawn at
random ("random"), or of the best policy with four in five actions drawn at random ("epsilon"). What was learnt is
judged exactly by the known model, which the learner never sees. A row is a size of data set; it says in how many of the
seeds the mixture's cost keeps the bound, and in how many it also has 95% of the best reward.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

BOUND, BEST = 0.1, 0.9**13

WORLD = """
discount = 0.9
[environment]
name = "frozen-lake"
map = "8x8"
slippery = false
[[constraint]]
measure = "failure"
at_most = 0.1
[objective]
maximize = "reward"
"""


def appropo(program: str, *arguments: str, statuses: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout


def solve(program: str, folder: Path, behaviour: str, fitted: str, episodes: int, seed: int) -> dict[str, float]:
    log = folder / "log.parquet"
    log.unlink(missing_ok=True)
    run = ["--run", str(folder / "best"), "--epsilon", "0.8"] if behaviour == "epsilon" else []
    recorded = ["--out", str(log), "--episodes", str(episodes), "--seed", str(1000 + seed)]
    appropo(program, "record", str(folder / "lake.toml"), *recorded, *run)
    options = ["--set", f"batch.dataset={log}", "--set", f"batch.fitted={fitted}", "--set", "batch.resamples=2"]
    start = time.monotonic()
    command = ["solve", str(folder / "lake.toml"), "--method", "batch", "--seed", str(seed), "--json", *options]
    found = json.loads(appropo(program, *command, statuses=(0, 3, 4)))
    return {
        "cost": found["measurements"]["failure"],
        "reward": found["measurements"]["reward"],
        "steps": found["logged"]["steps"],
        "rounds": found["oracle_calls"],
        "seconds": time.monotonic() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="target/release/appropo")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10, 20)))
    parser.add_argument("--episodes", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--behaviours", nargs="+", default=["random", "epsilon"])
    parser.add_argument("--fitted", nargs="+", default=["table", "network"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "lake.toml").write_text(WORLD)
        appropo(arguments.program, "maximize", str(folder / "lake.toml"), "--run", str(folder / "best"), "--quiet")
        print("logs     fitted   episodes   steps  within bound  and 95% reward  largest cost  rounds  seconds")
        for behaviour in arguments.behaviours:
            for fitted in arguments.fitted:
                for episodes in arguments.episodes:
                    found = [
                        solve(arguments.program, folder, behaviour, fitted, episodes, seed) for seed in arguments.seeds
                    ]
                    within = [one for one in found if one["cost"] <= BOUND + 1e-9]
                    best = [one for one in within if one["reward"] >= 0.95 * BEST]
                    count = len(found)
                    mean = {key: sum(one[key] for one in found) / count for key in ("steps", "rounds", "seconds")}
                    print(
                        f"{behaviour:8} {fitted:8} {episodes:8} {mean['steps']:7.0f} {len(within):7} of {count}"
                        f" {len(best):9} of {count} {max(one['cost'] for one in found):13.4f}"
                        f" {mean['rounds']:7.1f} {mean['seconds']:8.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
