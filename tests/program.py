"""The program as the tests build it, and what it can be given."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
# Another build of it, such as the release, can be named.
PROGRAM = Path(os.environ.get("APPROPO_PROGRAM", TARGET / "debug/appropo")).resolve()
if not PROGRAM.is_file():
    raise SystemExit(f"{PROGRAM} is missing; build it with: cargo test --workspace --no-run")
PROBLEMS = sorted(path.stem for path in (ROOT / "crates/appropo-file/problems").glob("*.toml"))
ENDED = (0, 3, 4)  # feasible, infeasible, undecided
# What there is a network of, and so an export.
NETWORKS = ("a2c", "ppo", "sac", "universal")


def oracles(problem):
    """The oracles that fit a built-in problem: without a model there is nothing to plan in or to count."""
    return NETWORKS if problem == "cart-pole" else ("exact", "model", "q-learning", *NETWORKS)


# A small network is enough here: the one for every λ learns longest from a step.
SMALL = {"universal": ("--set", "universal.net_arch=[16]", "--set", "universal.gradient_steps=1")}

PAIRS = [(problem, oracle) for problem in PROBLEMS for oracle in oracles(problem)]
# Objectives, each with every oracle that fits.
OBJECTIVES = [
    (command, problem, measure, oracle)
    for command, problem, measure in (
        ("maximize", "mars-rover", "reward"),
        ("minimize", "mars-rover", "failure"),
        ("maximize", "cart-pole", "reward"),
    )
    for oracle in oracles(problem)
]


def appropo(*arguments, expected=(0,)):
    """What the program prints, once it has ended with one of the expected statuses."""
    command = [str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in expected:
        raise AssertionError(
            f"{' '.join(command)}: exit status {done.returncode}, expected {expected}\n{done.stdout}{done.stderr}"
        )
    return done.stdout
