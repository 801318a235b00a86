"""One problem, one seed, one method, in a process of its own. Prints the result as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from problems import BY_NAME, Task

import appropo as ap

#: A verdict is checked by fresh episodes that appropo does not play: as many as this, or as these steps allow.
CHECK_EPISODES, CHECK_STEPS, CHECK_LEAST = 10_000, 200_000, 100
#: How many standard errors outside its bound a mean must lie to make a verdict of "feasible" false.
FALSE_FROM = 4.0
#: Where nothing else ends an episode, what follows is discounted to next to nothing.
LONGEST = 1_000


def solve(task: Task, seed: int, method: str, oracle: str | None, samples: int) -> dict[str, Any]:
    problem = task.problem()
    by_method = _by_lagrangian if method == "sb3-lagrangian" else _by_appropo
    started = time.perf_counter()
    result, learning, judging = by_method(task, problem, seed, oracle, samples)
    return {
        "verdict": result.verdict,
        "samples": result.samples,
        "rounds": result.oracle_calls,
        "distance": result.distance,
        "learning_seconds": learning,
        "judging_seconds": judging,
        "total_seconds": time.perf_counter() - started,
        "judging_samples": (result.evaluation or {}).get("samples", 0),
        "measurements": {name: np.asarray(value).tolist() for name, value in result.measurements.items()},
        "reason": result.failure or result.reason,
        **_checked(task, problem, result, seed),
    }


def _by_appropo(
    task: Task, problem: ap.Problem, seed: int, oracle: str | None, samples: int
) -> tuple[ap.Result, float, float]:
    """The result, and the seconds of learning and of judging."""
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        result = ap.solve(problem, oracle=oracle or task.oracle, samples=samples, seed=seed, run=run, progress=False)
        times = json.loads((run / "times.json").read_text())
    return result, times["oracle"] + times["player"], times["evaluation"]


def _by_lagrangian(
    task: Task, problem: ap.Problem, seed: int, oracle: str | None, samples: int
) -> tuple[ap.Result, float, float]:
    """The same: one answer, which appropo judges as it judges its own."""
    import gymnasium
    import torch
    from lagrangian import PPOLagrangian

    torch.set_num_threads(1)
    space = problem._played().env.observation_space
    policy = "MultiInputPolicy" if isinstance(space, gymnasium.spaces.Dict) else "MlpPolicy"
    learner = PPOLagrangian(task.bounds, problem.measures, samples, seed, policy)
    started = time.perf_counter()
    result = ap.solve(problem, oracle=learner, rounds=1, seed=seed, progress=False)
    return result, learner.seconds, time.perf_counter() - started - learner.seconds


def _checked(task: Task, problem: ap.Problem, result: ap.Result, seed: int) -> dict[str, Any]:
    """Whether the verdict is false. All problems are feasible."""
    if result.verdict != "feasible":
        return {"false": result.verdict == "infeasible"}
    rows = np.array(list(_episodes(task, problem, result.policy, seed + 1_000_000)))
    error = rows.std(axis=0, ddof=1) / np.sqrt(len(rows)) + 1e-9
    excess = [bound.violation(mean) for bound, mean in zip(task.bounds, rows.mean(axis=0), strict=True)]
    return {
        "false": bool(np.any(np.array(excess) > FALSE_FROM * error)),
        "checked_episodes": len(rows),
        "checked": rows.mean(axis=0).tolist(),
        "checked_errors": error.tolist(),
    }


def _episodes(task: Task, problem: ap.Problem, policy: Any, seed: int) -> Iterator[NDArray[np.float64]]:
    """What is bounded, summed over each of many episodes."""
    played = problem._played()
    env, names = played.env, list(problem.measures)
    env.reset(seed=seed)
    policy.reset(seed=seed)
    steps = episodes = 0
    while episodes < CHECK_LEAST or (episodes < CHECK_EPISODES and steps < CHECK_STEPS):
        played.reset(None)
        sums, factor, is_over, length = np.zeros(len(task.bounds)), 1.0, False, 0
        while not is_over:
            action, _ = policy.predict(played.last, episode_start=length == 0)
            step = played.taken(action)
            measured = dict(zip(names, played.measured(step), strict=True))
            sums += factor * np.array([np.ravel(measured[b.measure])[b.entry or 0] for b in task.bounds], dtype=float)
            factor *= task.discount
            length += 1
            is_over = bool(step.terminated or step.truncated) or length >= (problem._horizon or LONGEST)
        steps, episodes = steps + length, episodes + 1
        yield sums


def main() -> None:
    name, seed, method, oracle, samples = sys.argv[1:]
    print(json.dumps(solve(BY_NAME[name], int(seed), method, oracle or None, int(samples))))


if __name__ == "__main__":
    main()
