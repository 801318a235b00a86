"""Plain learning: our PPO, or A2C, beside Stable-Baselines3's, with the same hyperparameters and samples.

For every environment the mean return of fresh episodes after learning, over seeds; a bootstrap interval of the
difference; and steps per second. Results are kept in a JSON file, and what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import gymnasium
import numpy as np

#: Episodes that are played afresh, with the likeliest actions, as is usual. Among 30 of Acrobot's, one that fails moves the
#: mean of five seeds by 3; episodes of the robots are long, and differ less.
EPISODES, OF_ROBOTS = 200, 30
RESAMPLES = 10_000
#: A return that no policy has, so that learning goes on until the samples are used up.
OUT_OF_REACH = 1e9

WIDE = {"net_arch": [256, 256], "activation_fn": "relu"}
SMALL = {"net_arch": [64, 64], "activation_fn": "tanh"}
SHARED = {
    "learning_rate": 3e-4,
    "n_steps": 2048,
    "batch_size": 64,
    "n_epochs": 10,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_range": 0.2,
    "ent_coef": 0.0,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
    "normalize_advantage": True,
    "target_kl": None,
    **SMALL,
}
#: Steps, whether observations and rewards are normalised, and hyperparameters after RL Zoo, in one environment.
TASKS: dict[str, tuple[int, bool, dict[str, Any]]] = {
    "CartPole-v1": (
        100_000,
        False,
        {"learning_rate": 1e-3, "n_steps": 256, "batch_size": 256, "n_epochs": 20, "gamma": 0.98, "gae_lambda": 0.8},
    ),
    "Acrobot-v1": (100_000, True, {"n_epochs": 4, "gae_lambda": 0.94}),
    "Pendulum-v1": (150_000, False, {"learning_rate": 1e-3, "gamma": 0.9}),
    "LunarLander-v3": (300_000, False, {"n_epochs": 4, "gamma": 0.999, "gae_lambda": 0.98, "ent_coef": 0.01}),
    "HalfCheetah-v5": (
        500_000,
        True,
        {"n_steps": 512, "gamma": 0.98, "gae_lambda": 0.92, "max_grad_norm": 0.8, **WIDE},
    ),
    "Hopper-v5": (500_000, True, {"n_steps": 512, "n_epochs": 5, "gamma": 0.999, "gae_lambda": 0.99, **WIDE}),
}

#: A2C's, in eight environments side by side.
SHARED_BY_A2C = {
    "learning_rate": 7e-4,
    "n_steps": 5,
    "gamma": 0.99,
    "gae_lambda": 1.0,
    "ent_coef": 0.0,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
    "normalize_advantage": False,
    **SMALL,
}
TASKS_OF_A2C: dict[str, tuple[int, bool, dict[str, Any]]] = {
    "CartPole-v1": (100_000, False, {}),
    "Acrobot-v1": (100_000, True, {}),
    "Pendulum-v1": (150_000, True, {"n_steps": 8, "gamma": 0.9, "gae_lambda": 0.9, "vf_coef": 0.4}),
    "LunarLander-v3": (300_000, False, {"gamma": 0.995, "ent_coef": 1e-5}),
}


class Algorithm(NamedTuple):
    num_envs: int
    shared: dict[str, Any]
    tasks: dict[str, tuple[int, bool, dict[str, Any]]]


ALGORITHMS = {"ppo": Algorithm(1, SHARED, TASKS), "a2c": Algorithm(8, SHARED_BY_A2C, TASKS_OF_A2C)}
ROBOTS = ("HalfCheetah-v5", "Hopper-v5")

Act = Callable[[Any], Any]


def ours(
    algorithm: str, env: str, seed: int, samples: int, is_normalized: bool, settings: dict[str, Any]
) -> tuple[Act, float, int]:
    """A policy, the seconds it took to learn, and the steps."""
    import appropo as ap

    if algorithm == "ppo":
        # None is 0 here: where there is no value, it is the default.
        settings = settings | {"target_kl": settings["target_kl"] or 0}
    else:
        settings = settings | {"optimizer": "rmsprop"}
    num_envs = ALGORITHMS[algorithm].num_envs
    played: Any = gymnasium.make_vec(env, num_envs, "sync") if num_envs > 1 else env
    problem = ap.Problem(played, [ap.measure("reward") >= OUT_OF_REACH], discount=1.0)
    oracle = {"ppo": ap.PPO, "a2c": ap.A2C}[algorithm](
        **settings,
        norm_obs=is_normalized,
        norm_reward=is_normalized,
        novelty_coef=0,
        imitation_coef=0,
        # One λ for all samples, and the policy that is there in the end.
        learned={"patience": 1.0, "fresh": 0, "iterates": False},
    )
    # The first λ leads away from the anchor: towards the reward.
    player = ap.FullyCorrective(anchor={"reward": -OUT_OF_REACH})
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        result = ap.solve(
            problem, oracle=oracle, player=player, samples=samples, rounds=1, seed=seed, run=run, progress=False
        )
        seconds = json.loads((run / "times.json").read_text())["oracle"]
    policy = result.policy
    return lambda observation: policy.predict(observation, deterministic=True)[0], seconds, result.samples


def theirs(
    algorithm: str, env: str, seed: int, samples: int, is_normalized: bool, settings: dict[str, Any]
) -> tuple[Act, float, int]:
    """The same of Stable-Baselines3."""
    import torch
    from stable_baselines3 import A2C, PPO
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    torch.set_num_threads(1)
    settings = dict(settings)
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[settings.pop("activation_fn")]
    network = {"net_arch": settings.pop("net_arch"), "activation_fn": activation}
    world: Any = DummyVecEnv([lambda: Monitor(gymnasium.make(env))] * ALGORITHMS[algorithm].num_envs)
    if is_normalized:
        world = VecNormalize(world, gamma=settings["gamma"])
    make = {"ppo": PPO, "a2c": A2C}[algorithm]
    model = make("MlpPolicy", world, policy_kwargs=network, seed=seed, device="cpu", **settings)
    started = time.perf_counter()
    model.learn(samples)
    seconds = time.perf_counter() - started

    def act(observation: Any) -> Any:
        seen = world.normalize_obs(observation) if is_normalized else observation
        return model.predict(seen, deterministic=True)[0]

    return act, seconds, model.num_timesteps


METHODS = {"appropo": ours, "sb3": theirs}


def returned(env: str, act: Act, seed: int) -> float:
    """The mean return of fresh episodes."""
    world, returns = gymnasium.make(env), []
    world.reset(seed=seed + 1_000_000)
    for _ in range(OF_ROBOTS if env in ROBOTS else EPISODES):
        observation, _ = world.reset()
        total, is_over = 0.0, False
        while not is_over:
            observation, reward, terminated, truncated, _ = world.step(act(observation))
            total += float(reward)
            is_over = terminated or truncated
        returns.append(total)
    return mean(returns)


def run(algorithm: str, env: str, method: str, seed: int, scale: float) -> dict[str, Any]:
    samples, is_normalized, changed = ALGORITHMS[algorithm].tasks[env]
    budget, settings = round(samples * scale), ALGORITHMS[algorithm].shared | changed
    act, seconds, steps = METHODS[method](algorithm, env, seed, budget, is_normalized, settings)
    about = {"algorithm": algorithm, "env": env, "method": method, "seed": seed, "budget": budget}
    return {**about, "return": returned(env, act, seed), "samples": steps, "seconds": seconds}


def interval(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """Of the difference of means, at level 0.95, by drawing seeds of each anew."""
    generator = np.random.default_rng(0)
    means = [np.mean(generator.choice(part, (RESAMPLES, len(part))), axis=1) for part in (ours, theirs)]
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return float(low), float(high)


def table(results: list[dict[str, Any]]) -> str:
    rows = [
        "| Environment | Steps | Seeds | appropo | Stable-Baselines3 | Difference, 95% | Steps a second, ratio |",
        "|" + " --- |" * 7,
    ]
    for env, budget in sorted({(r["env"], r["budget"]) for r in results}, key=lambda key: list(TASKS).index(key[0])):
        of_env = [result for result in results if (result["env"], result["budget"]) == (env, budget)]
        mine, other = ([result for result in of_env if result["method"] == method] for method in METHODS)
        if not (mine and other):
            continue
        returns = [[result["return"] for result in part] for part in (mine, other)]
        low, high = interval(*returns)
        speeds = [sum(r["samples"] for r in part) / sum(r["seconds"] for r in part) for part in (mine, other)]
        cells = [env, f"{budget:,}", str(min(len(mine), len(other))), *(f"{mean(part):.1f}" for part in returns)]
        cells += [
            f"{mean(returns[0]) - mean(returns[1]):.1f} ({low:.1f} to {high:.1f})",
            f"{speeds[0] / speeds[1]:.1f}",
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def identity(result: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(result[key] for key in ("algorithm", "env", "method", "seed", "budget"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/plain.py", description=__doc__)
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="ppo")
    parser.add_argument("--envs", help="by default all: " + ", ".join(TASKS) + "; the first four for a2c")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--scale", type=float, default=1.0, help="of all budgets")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side; speeds are those of 1")
    parser.add_argument("--out", type=Path, default=Path("plain.json"))
    given = parser.parse_args()
    results = json.loads(given.out.read_text()) if given.out.exists() else []
    # Those of earlier versions had none.
    results = [{"algorithm": "ppo", **result} for result in results]
    there = {identity(result) for result in results}
    tasks = ALGORITHMS[given.algorithm].tasks
    jobs = [
        (given.algorithm, env, method, seed)
        for seed in range(given.seeds)
        for env in (given.envs.split(",") if given.envs else tasks)
        for method in given.methods.split(",")
        if (given.algorithm, env, method, seed, round(tasks[env][0] * given.scale)) not in there
    ]
    with ProcessPoolExecutor(given.jobs, max_tasks_per_child=1) as processes:
        running = {processes.submit(run, *job, given.scale): job for job in jobs}
        for done in as_completed(running):
            try:
                result = done.result()
            except Exception as error:
                print(*running[done], f"failed: {error}", file=sys.stderr, flush=True)
                continue
            results.append(result)
            given.out.write_text(json.dumps(results, indent=1) + "\n")
            speed = result["samples"] / result["seconds"]
            print(*identity(result), f"return {result['return']:.1f}, {speed:.0f} steps/s", flush=True)
    print(table([result for result in results if result["algorithm"] == given.algorithm]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
