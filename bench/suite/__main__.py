"""The suite: how many problems are decided, on environments that others wrote, for several seeds.

Every problem, seed and method runs in a process of its own. Results are kept in a JSON file, and what is there is not
run again unless it failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from problems import TASKS, Task
from table import markdown, summary

METHODS = ("appropo", "sb3-lagrangian")


class Job(NamedTuple):
    task: Task
    seed: int
    method: str
    oracle: str | None
    scale: float

    @property
    def samples(self) -> int:
        return round(self.task.samples * self.scale)

    def about(self) -> dict[str, Any]:
        oracle = (self.oracle or self.task.oracle) if self.method == "appropo" else None
        return {
            "problem": self.task.name,
            "seed": self.seed,
            "method": self.method,
            "oracle": oracle,
            "budget": self.samples,
        }

    def run(self, limit: float) -> dict[str, Any]:
        """The result; a failure is one too."""
        one = Path(__file__).with_name("one.py")
        names = self.task.name, str(self.seed), self.method, self.oracle or "", str(self.samples)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        try:
            done = subprocess.run(
                [sys.executable, one, *names], capture_output=True, text=True, timeout=limit, env=environment
            )
        except subprocess.TimeoutExpired:
            return {**self.about(), "verdict": "failed", "error": f"stopped after {limit:.0f} s"}
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
            return {**self.about(), "verdict": "failed", "error": last[0]}
        return {**self.about(), **json.loads(done.stdout.splitlines()[-1])}


def identity(result: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(result[key] for key in ("problem", "seed", "method", "oracle", "budget"))


class Results:
    """The results of a file, written again with each new one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept = json.loads(path.read_text()) if path.exists() else []
        self.by_identity = {identity(result): result for result in kept}

    def add(self, result: dict[str, Any]) -> None:
        self.by_identity[identity(result)] = result
        temporary = self._path.with_suffix(".part")
        temporary.write_text(json.dumps(self.all(), indent=1) + "\n")
        temporary.replace(self._path)

    def all(self) -> list[dict[str, Any]]:
        order = {task.name: number for number, task in enumerate(TASKS)}
        return sorted(self.by_identity.values(), key=lambda r: (order.get(r["problem"], 999), r["method"], r["seed"]))


def numbers(text: str) -> list[int]:
    """Seeds such as 0-4 or 1,5,7-9."""
    parts = [part.split("-") for part in text.split(",")]
    return [number for part in parts for number in range(int(part[0]), int(part[-1]) + 1)]


def chosen(pattern: str | None) -> list[Task]:
    tasks = [task for task in TASKS if (not task.is_held_out if pattern is None else fnmatch(task.name, pattern))]
    if not tasks:
        sys.exit(f"suite: no problem is called {pattern}; --list shows them")
    return tasks


def line(result: dict[str, Any]) -> str:
    text = f"{result['problem']:<26} seed {result['seed']}  {result['method']:<14} {result['verdict']:<10}"
    if "error" in result:
        return f"{text} {result['error']}"
    seconds = f"{result['learning_seconds']:.0f} s learning, {result['judging_seconds']:.0f} s judging"
    return f"{text} {result['samples']:>7} samples  {seconds}{'  FALSE VERDICT' if result['false'] else ''}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/suite", description=__doc__)
    parser.add_argument("--problems", metavar="GLOB", help="such as 'treasure/*'; by default all that are not held out")
    parser.add_argument("--seeds", type=numbers, default=numbers("0-4"), help="such as 0-4")
    parser.add_argument("--oracle", help="for every problem; by default the package's, or what the problem says")
    parser.add_argument("--methods", default=",".join(METHODS), help="of " + ", ".join(METHODS))
    parser.add_argument("--scale", type=float, default=1.0, help="of all budgets")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for each process")
    parser.add_argument("--out", type=Path, default=Path("suite.json"), metavar="FILE.json")
    parser.add_argument("--again", action="store_true", help="runs what is in the file as well")
    parser.add_argument("--list", action="store_true", help="shows the problems, and runs nothing")
    parser.add_argument("--markdown", action="store_true", help="prints the tables of the book, and runs nothing")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    methods = given.methods.split(",")
    if unknown := set(methods) - set(METHODS):
        sys.exit(f"suite: --methods has {', '.join(unknown)}; expected some of {', '.join(METHODS)}")
    tasks, results = chosen(given.problems), Results(given.out)
    if given.list:
        for task in tasks:
            print(f"{task.name:<26} {task.env:<30} {task.samples:>7}  {', '.join(map(str, task.bounds))}")
        return 0
    if given.markdown:
        print(markdown(results.all()))
        return 0
    jobs = [
        Job(task, seed, method, given.oracle, given.scale)
        for seed in given.seeds
        for task in tasks
        for method in methods
    ]
    if not given.again:
        ended = {key for key, result in results.by_identity.items() if result["verdict"] != "failed"}
        jobs = [job for job in jobs if identity(job.about()) not in ended]
    with ThreadPoolExecutor(given.jobs) as threads:
        for done in as_completed([threads.submit(job.run, given.limit) for job in jobs]):
            results.add(done.result())
            print(line(done.result()), flush=True)
    print(summary(results.all()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
