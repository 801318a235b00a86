"""What the results say, as lines and as the tables of the book."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import Any

from problems import BY_NAME, TASKS

Result = dict[str, Any]


def _grouped(results: list[Result], *keys: str) -> dict[tuple[Any, ...], list[Result]]:
    groups = defaultdict(list)
    for result in results:
        groups[tuple(result[key] for key in keys)].append(result)
    return groups


def _feasible(results: list[Result]) -> int:
    return sum(result["verdict"] == "feasible" for result in results)


def _total(results: list[Result], key: str) -> float:
    return sum(result.get(key, 0.0) for result in results)


def summary(results: list[Result]) -> str:
    """Totals for each method, apart for what is held out."""
    lines = []
    parts = {"": [], "held out, ": []}
    for result in results:
        parts["held out, " if result["problem"].startswith("held-out/") else ""].append(result)
    for label, part in parts.items():
        for (method,), group in _grouped(part, "method").items():
            of_problems = _grouped(group, "problem").values()
            never = sum(_feasible(of_problem) == 0 for of_problem in of_problems)
            failed = sum(result["verdict"] == "failed" for result in group)
            lines.append(
                f"{label}{method}: {_feasible(group)} of {len(group)} feasible "
                f"({100 * _feasible(group) / len(group):.0f}%), {_total(group, 'false'):.0f} false verdicts, "
                f"{never} problems with none, {failed} failed; "
                f"{_total(group, 'learning_seconds'):.0f} s learning, {_total(group, 'judging_seconds'):.0f} s judging"
            )
    return "\n".join(lines)


def problems() -> str:
    """What each problem asks."""
    rows = [
        "| Problem | Environment | Asked, of an episode's sums | Samples | Why it is feasible |",
        "|" + " --- |" * 5,
    ]
    for task in TASKS:
        asked = ", ".join(map(str, task.bounds))
        rows.append(f"| `{task.name}` | {task.env} | {asked} | {task.samples:,} | {task.reason} |")
    return "\n".join(rows)


def found(results: list[Result]) -> str:
    """What came out."""
    rows = [
        "| Problem | Method | Feasible | False | Samples, median | Seconds learning | Seconds judging |",
        "|" + " --- |" * 7,
    ]
    for (problem, method, oracle, budget), group in _grouped(results, "problem", "method", "oracle", "budget").items():
        ended = [result for result in group if "samples" in result]
        samples = f"{median(result['samples'] for result in ended):,.0f}" if ended else "–"
        named = method if oracle is None else f"{method}, `{oracle}`"
        task = BY_NAME.get(problem)
        at = "" if task is None or budget == task.samples else f", {budget:,} samples"
        rows.append(
            f"| `{problem}` | {named}{at} | {_feasible(group)} of {len(group)} | {_total(group, 'false'):.0f} "
            f"| {samples} | {_total(group, 'learning_seconds'):.0f} | {_total(group, 'judging_seconds'):.0f} |"
        )
    return "\n".join(rows)


def markdown(results: list[Result]) -> str:
    return "\n\n".join([problems(), found(results), *summary(results).splitlines()])
