"""What `package.sh` measures. Prints a line for each, and exits with 1 if one is not as it should be."""

import json
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import gymnasium
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC

import appropo as ap
from appropo.oracles import SB3

STEPS = 40_000
SEEDS = range(5)
IMPORTS = 9
failed = False


def show(what, value, unit, holds, wanted):
    global failed
    failed |= not holds
    print(f"{what:<58} {value:>10.4g} {unit:<12} {wanted}{'' if holds else '  MISSED'}", flush=True)


def cart_pole(*constraints):
    return ap.Problem(
        env="CartPole-v1",
        measure={"drift": lambda t: abs(t.observation[0])},
        constraints=constraints,
        discount=1.0,
        horizon=500,
    )


TWO = ap.measure("drift") <= 12, ap.measure("steps") >= 180


def wheel(path):
    show("wheel", path.stat().st_size / 1e6, "MB", path.stat().st_size < 15e6, "under 15")
    files = zipfile.ZipFile(path)
    text = b"".join(files.read(name) for name in files.namelist() if name.endswith(".py"))
    # Messages may name it, to say what to use instead.
    found = re.findall(rb"(?:import|from) +(?:pickle|cloudpickle|dill|joblib|shelve|marshal)\b", text)
    show("imports of pickle or the like in it", len(found), "", not found, "none")


def importing():
    """The time that the import takes beyond starting Python; the best of several, since the first reads the disk."""
    code = "import time; start = time.perf_counter(); import appropo; print(time.perf_counter() - start)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(IMPORTS)]
    show("import appropo", 1000 * min(times), "ms", min(times) < 0.15, "under 150")


def ours(oracle):
    """Steps per second of learning, for a goal that takes all of them."""
    out_of_reach = [ap.measure("steps") >= 1000]
    with tempfile.TemporaryDirectory() as place:
        result = ap.solve(cart_pole(*out_of_reach), oracle=oracle, samples=STEPS, run=Path(place) / "run")
        seconds = json.loads((result.folder / "times.json").read_text())["oracle"]
    return result.samples / seconds


def theirs(algorithm, **settings):
    model = algorithm("MlpPolicy", gymnasium.make("CartPole-v1"), device="cpu", **settings)
    model.learn(2_000)
    start = time.perf_counter()
    model.learn(STEPS)
    return STEPS / (time.perf_counter() - start)


def throughput():
    wide = {"net_arch": [128], "activation_fn": torch.nn.ReLU}
    for name, speed in [
        ("ppo", theirs(PPO, n_steps=256, batch_size=64, n_epochs=10)),
        ("a2c", theirs(A2C, n_steps=16, policy_kwargs=wide)),
    ]:
        mine = ours(name)
        print(f"{name} on CartPole-v1: {mine:.0f} steps/s, Stable-Baselines3 {speed:.0f}")
        show(f"{name}, times as fast as Stable-Baselines3", mine / speed, "", mine >= 3 * speed, "at least 3")


def beside_the_command_line():
    """The same run of a built-in world, from Python and from the command line, each the best of three."""
    settings = {"oracle": "ppo", "samples": 300_000, "seed": 1, "tolerance": 1e-9}
    problem = ap.Problem(ap.BuiltIn("cart-pole"), [ap.measure("steps") >= 1000], discount=1.0, horizon=500, name="long")
    file = Path("long.toml").resolve()
    times = {"Python": [], "command line": []}
    try:
        file.write_text(problem.resolved(**settings))
        for _ in range(3):
            start = time.perf_counter()
            ap.solve(problem, **settings)
            times["Python"].append(time.perf_counter() - start)
            command = [sys.executable, "-m", "appropo", "solve", file, "--json"]
            printed = subprocess.run(command, stdout=subprocess.PIPE).stdout
            # Its own count, without the start of a process.
            times["command line"].append(json.loads(printed)["seconds"])
    finally:
        file.unlink()
    ratio = min(times["Python"]) / min(times["command line"])
    show("time of a built-in world, Python by command line", ratio, "", ratio <= 1.1, "at most 1.1")


def algorithms():
    """Algorithms whose policies are no plain layers are kept and made again all the same."""
    effort = {"effort": lambda t: float(abs(t.action).sum())}
    cases = [
        (DQN, "CartPole-v1", ap.measure("steps") <= 60, {}),
        (A2C, "Pendulum-v1", ap.measure("effort") <= 300, effort),
        (SAC, "Pendulum-v1", ap.measure("effort") <= 300, effort),
    ]
    for algorithm, env, constraint, measure in cases:
        problem = ap.Problem(env, [constraint], measure, discount=1.0, horizon=60)
        settings = {"steps": 600, "episodes": 5} | ({} if algorithm is A2C else {"learning_starts": 100})
        with tempfile.TemporaryDirectory() as place:
            result = ap.solve(problem, oracle=SB3(algorithm, **settings), samples=1_000, run=Path(place) / "run")
            again = ap.load(result.folder, problem, oracle=SB3(algorithm, **settings))
            same = again.evaluate(20) == result.evaluate(20)
        show(f"{algorithm.__name__} on {env}, loaded again", same, "", same, "the same episodes")


def seeds():
    for name, oracle in [
        ("our PPO", lambda seed: "ppo"),
        (
            "SB3's PPO",
            lambda seed: SB3(PPO, seed=seed, steps=60_000, n_steps=256, batch_size=64, learning_rate=1e-3, gamma=1.0),
        ),
    ]:
        held = 0
        for seed in SEEDS:
            start = time.perf_counter()
            result = ap.solve(cart_pole(*TWO), oracle=oracle(seed), samples=400_000, seed=seed)
            held += result.verdict == "feasible"
            print(f"{name}, seed {seed}: {result!r}, {time.perf_counter() - start:.0f} s", flush=True)
        show(f"cart-pole with two constraints, {name}", held, "of 5 seeds", held == 5, "all feasible")


if __name__ == "__main__":
    torch.set_num_threads(1)
    wheel(Path(sys.argv[1]))
    importing()
    throughput()
    beside_the_command_line()
    algorithms()
    seeds()
    sys.exit(failed)
