"""The velocity tasks: the largest reward while an episode has at most 25 steps that are too fast, on average.

Each is solved by `ap.maximize` for several seeds; fresh episodes then say what its policy is worth, beside the best
public results. Results are kept in a JSON file, and what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

import appropo as ap

COST_LIMIT = 25.0
#: Fresh episodes that say what a policy is worth.
EPISODES = 100


class Robot(NamedTuple):
    #: A step is too fast above this.
    speed: float
    #: The best public reward with a cost of at most 25, after 10,000,000 steps.
    public: float
    #: Whether the speed is that in the plane, not only forwards.
    is_planar: bool = False


ROBOTS = {
    "Swimmer": Robot(0.2282, 91),
    "Hopper": Robot(0.7402, 1716),
    "HalfCheetah": Robot(3.2096, 2965),
    "Walker2d": Robot(2.3415, 3207),
    "Ant": Robot(2.6222, 3262, is_planar=True),
    "Humanoid": Robot(1.4149, 6624, is_planar=True),
}


#: Those that take options here.
METHODS = {"cpo": ap.CPO, "lagrangian": ap.Lagrangian}


def problem(name: str) -> ap.Problem:
    robot = ROBOTS[name]

    def cost(step: ap.Transition) -> float:
        forwards = step.info["x_velocity"]
        speed = np.hypot(forwards, step.info["y_velocity"]) if robot.is_planar else forwards
        return float(speed > robot.speed)

    return ap.Problem(
        f"{name}-v5", [ap.measure("cost") <= COST_LIMIT], {"cost": cost}, discount=1.0, name=f"{name}-velocity"
    )


def run(
    name: str, method: str | None, oracle: str | None, options: dict[str, Any], samples: int, seed: int
) -> dict[str, Any]:
    asked = problem(name)
    started = time.perf_counter()
    how = METHODS[method](**options) if method and options else method
    best = ap.maximize(asked, "reward", method=how, oracle=oracle, samples=samples, seed=seed)
    seconds = time.perf_counter() - started
    rows = np.array(_episodes(asked, best.policy, seed + 1_000_000))
    means, errors = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(EPISODES)
    return {
        **about(name, method, oracle, options, samples, seed),
        "verdict": best.verdict,
        "value": best.value,
        "seconds": seconds,
        "reward": float(means[0]),
        "reward_error": float(errors[0]),
        "cost": float(means[1]),
        "cost_error": float(errors[1]),
        "ratio": float(means[0]) / ROBOTS[name].public,
    }


def about(
    name: str, method: str | None, oracle: str | None, options: dict[str, Any], samples: int, seed: int
) -> dict[str, Any]:
    return {
        "robot": name,
        "method": method,
        "oracle": oracle,
        "options": options,
        "samples": samples,
        "seed": seed,
    }


def _episodes(asked: ap.Problem, policy: Any, seed: int) -> list[tuple[float, float]]:
    """The reward and the cost of fresh episodes."""
    played, sums = asked._played(), []
    played.reset(seed)
    policy.reset(seed=seed)
    for _ in range(EPISODES):
        played.reset(None)
        reward = cost = 0.0
        is_over, is_start = False, True
        while not is_over:
            action, _ = policy.predict(played.last, episode_start=is_start)
            step = played.taken(action)
            measured = dict(zip(asked.measures, played.measured(step), strict=True))
            reward, cost = reward + float(measured["reward"]), cost + measured["cost"]
            is_over, is_start = bool(step.terminated or step.truncated), False
        sums.append((reward, cost))
    return sums


def table(results: list[dict[str, Any]]) -> str:
    rows = ["| Robot | Method | Steps | Seeds | Reward | Cost | Public | Ratio | Verdicts |", "|" + " --- |" * 9]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for result in results:
        options = ", ".join(f"{key}={value}" for key, value in result["options"].items())
        key = (result["robot"], result["method"], result["oracle"], options, result["samples"])
        groups.setdefault(key, []).append(result)
    for key in sorted(groups, key=lambda key: (list(ROBOTS).index(key[0]), str(key[1:4]), key[4])):
        name, method, oracle, options, samples = key
        group = groups[key]
        rewards, costs = ([result[what] for result in group] for what in ("reward", "cost"))
        held = sum(result["verdict"] == "feasible" for result in group)
        how = ", ".join(part for part in (method or "appropo", oracle, options) if part)
        rows.append(
            f"| {name} | `{how}` | {samples:,} | {len(group)} | {', '.join(f'{reward:.0f}' for reward in rewards)} "
            f"| {', '.join(f'{cost:.1f}' for cost in costs)} | {ROBOTS[name].public:g} "
            f"| {mean(rewards) / ROBOTS[name].public:.2f} | {held} feasible |"
        )
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/velocity.py", description=__doc__)
    parser.add_argument("--robots", default="Swimmer,Hopper,HalfCheetah", help="of " + ", ".join(ROBOTS))
    parser.add_argument("--method", help="by default appropo")
    parser.add_argument("--oracle", help="by default the method's")
    parser.add_argument("--options", type=json.loads, default={}, help="of the method, as JSON")
    parser.add_argument("--samples", type=int, default=3_000_000)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--out", type=Path, default=Path("velocity.json"))
    parser.add_argument("--markdown", action="store_true", help="prints the table of the book, and runs nothing")
    given = parser.parse_args()
    results = json.loads(given.out.read_text()) if given.out.exists() else []
    # Those of earlier versions had none.
    results = [{"options": {}, **result} for result in results]
    names = [] if given.markdown else given.robots.split(",")
    seeds = range(given.seeds)
    how = (given.method, given.oracle, given.options, given.samples)
    jobs = [(name, *how, seed) for seed in seeds for name in names]
    there = [{key: result[key] for key in about("", None, None, {}, 0, 0)} for result in results]
    with ProcessPoolExecutor(given.jobs, max_tasks_per_child=1) as processes:
        running = {processes.submit(run, *job): job for job in jobs if about(*job) not in there}
        for done in as_completed(running):
            try:
                results.append(done.result())
            except Exception as error:
                print(*running[done], f"failed: {error}", file=sys.stderr, flush=True)
                continue
            given.out.write_text(json.dumps(results, indent=1) + "\n")
            print(*running[done], f"reward {results[-1]['reward']:.0f}, cost {results[-1]['cost']:.1f}", flush=True)
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
