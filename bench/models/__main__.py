"""Multi-objective queries on models of probabilistic model checking: Storm's answers and times beside ours.

For every model the extremes of its measures are found first: the expected totals of its reward structures up to the end,
and the probabilities of its labels, or the long-run averages where nothing ends. Then, for every two of them that policies can trade, one is optimised with the other
held between its extremes. Storm answers soundly to 1e-6. Our time is that of the whole command, with its certificate, less
what reading the model takes by itself; Storm has read the model before its time begins.
Models are those that stormpy brings, of several sizes, or all in a folder.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import storm

#: How far apart answers may be, relative to their size: what Storm is asked for, and as much again.
AGREES = 2e-6
#: Models of so many states count for the mean of the ratios of times.
LARGE = 10_000


class Model(NamedTuple):
    name: str
    source: Path
    constants: dict[str, str]
    #: The label that ends an episode.
    end: str | None = None
    #: Whether it goes on for ever, and rewards are averages.
    is_endless: bool = False


def shipped(name: str, file: str, end: str | None = None, **constants: object) -> Model:
    return Model(name, storm.SHIPPED / file, {key: str(value) for key, value in constants.items()}, end)


def line(places: int, wear: int) -> Model:
    source = Path(__file__).with_name("line.nm")
    return Model(f"line-{places}-{wear}", source, {"N": str(places), "W": str(wear)}, is_endless=True)


MODELS = [
    shipped("dice", "two_dice.nm", "done"),
    shipped("consensus-2", "coin2.nm", "finished", K=2),
    shipped("consensus-8", "coin2.nm", "finished", K=8),
    shipped("consensus-16", "coin2.nm", "finished", K=16),
    shipped("csma", "csma2-2.nm", "all_delivered"),
    shipped("firewire-3", "firewire.nm", "elected", delay=3, fast=0.5),
    shipped("firewire-10", "firewire.nm", "elected", delay=10, fast=0.5),
    shipped("firewire-36", "firewire.nm", "elected", delay=36, fast=0.5),
    shipped("firewire-36-slow", "firewire.nm", "elected", delay=36, fast=0.2),
    shipped("leader", "leader4.nm", "elected"),
    shipped("grid-100", "slipgrid.nm", "goal", N=100, M=100),
    shipped("grid-200", "slipgrid.nm", "goal", N=200, M=200),
    shipped("wlan-2", "wlan0_collide.nm", None, COL=2, TRANS_TIME_MAX=20),
    shipped("wlan-6", "wlan0_collide.nm", None, COL=6, TRANS_TIME_MAX=120),
    shipped("wlan-6-long", "wlan0_collide.nm", None, COL=6, TRANS_TIME_MAX=315),
    line(20, 5),
    line(500, 30),
]


class Measure(NamedTuple):
    #: As we call it.
    name: str
    #: As Storm does: the goal or the bound stands between the two.
    operator: str
    path: str
    label: str | None
    lower: float
    upper: float

    def formula(self, how: str) -> str:
        return f"{self.operator}{how} [{self.path}]"


def measures(model: Model, built: Any, limit: float) -> list[Measure]:
    """What policies can trade: measures that some policies have more of than others, and none without end."""
    until = "LRA" if model.is_endless else f'F "{model.end}"' if model.end else "C"
    asked = [(name or "reward", 'R{"' + name + '"}' if name else "R", until, None) for name in sorted(built.reward_models)]
    if model.is_endless:
        asked = [(f"average({name})", *rest) for name, *rest in asked]
    labels = sorted(set(built.labeling.get_labels()) - {"init", "deadlock", model.end})
    asked += [(f"reach({label})", "P", f'F "{label}"', label) for label in labels]
    found = []
    for name, operator, path, label in asked:
        ends = [storm.ask(built, f"{operator}{goal}=? [{path}]", limit).value for goal in ("min", "max")]
        lower, upper = (math.inf if end is None else end for end in ends)
        if lower < math.inf and upper - lower > 1e-6 * max(1.0, abs(lower)):
            found.append(Measure(name, operator, path, label, lower, upper))
    return found


class Query(NamedTuple):
    goal: str
    optimized: Measure
    bounded: Measure
    limit: float

    def formula(self) -> str:
        goal = self.optimized.formula(f"{self.goal[:3]}=?")
        return f"multi({goal}, {self.bounded.formula(f'<={self.limit!r}')})"

    def problem(self, model: Model, file: str) -> str:
        lines = ["discount = 1.0", "[environment]", f"model = {json.dumps(file)}"]
        reach = sorted({m.label for m in (self.optimized, self.bounded) if m.label})
        lines += [f"reach = {json.dumps(reach)}"] if reach else []
        lines += [f"end = {json.dumps([model.end])}"] if model.end else []
        averages = sorted(re.findall(r"average\((.*?)\)", self.optimized.name + self.bounded.name))
        lines += [f"average = {json.dumps(averages)}"] if averages else []
        lines += ["[objective]", f"{self.goal} = {json.dumps(self.optimized.name)}"]
        lines += ["[[constraint]]", f"measure = {json.dumps(self.bounded.name)}", f"at_most = {self.limit!r}"]
        return "\n".join(lines) + "\n"


def queries(found: list[Measure]) -> list[Query]:
    asked = []
    for optimized, bounded in itertools.permutations(found[:4], 2):
        # What has no end is cost: as little of it as can be is asked for, and a little more of the other is allowed.
        width = bounded.upper - bounded.lower if bounded.upper < math.inf else max(1.0, abs(bounded.lower))
        goal = "maximize" if optimized.upper < math.inf else "minimize"
        asked.append(Query(goal, optimized, bounded, bounded.lower + 0.3 * width))
    return asked


class Ours(NamedTuple):
    found: dict[str, Any]
    seconds: float
    #: Why nothing was found.
    reason: str = ""


def ours(problem: Path, limit: float) -> Ours:
    command = [os.environ["APPROPO"], "solve", str(problem), "--json"]
    started = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return Ours({}, limit, f"over {limit:g} s")
    seconds = time.perf_counter() - started
    try:
        return Ours(json.loads(done.stdout), seconds)
    except json.JSONDecodeError:
        return Ours({}, seconds, done.stderr.strip()[:200])


def reading(model: Path) -> float:
    """How long reading a model takes."""
    started = time.perf_counter()
    subprocess.run([os.environ["APPROPO"], "model", str(model)], capture_output=True, check=True)
    return time.perf_counter() - started


class Row(NamedTuple):
    model: str
    states: int
    query: str
    storm: float | None
    ours: float | None
    storm_seconds: float
    our_seconds: float
    note: str

    def agrees(self) -> bool | None:
        if self.storm is None or self.ours is None:
            return None
        return abs(self.storm - self.ours) <= AGREES * max(1.0, abs(self.storm))

    def __str__(self) -> str:
        def shown(value: float | None) -> str:
            return "-" if value is None else f"{value:.7g}"

        agrees = {True: "yes", False: "NO", None: "-"}[self.agrees()]
        return (
            f"| {self.model} | {self.states:,} | {self.query} | {shown(self.storm)} | {shown(self.ours)} | {agrees} "
            f"| {self.storm_seconds:.3f} | {self.our_seconds:.3f} | {self.note} |"
        )


def rows(model: Model, folder: Path, limit: float) -> list[Row]:
    built = storm.build(model.source, model.constants)
    storm.export(built, folder / "model.drn")
    read = reading(folder / "model.drn")
    made = []
    for query in queries(measures(model, built, limit)):
        (folder / "problem.toml").write_text(query.problem(model, "model.drn"))
        theirs = storm.ask(built, query.formula(), limit)
        found, seconds, reason = ours(folder / "problem.toml", limit)
        value = (found.get("objective") or {}).get("value")
        notes = [f"Storm: {theirs.reason}" if theirs.reason else "", f"ours: {reason}" if reason else ""]
        notes += ["ours: undecided"] if found.get("verdict") == "undecided" else []
        made.append(
            Row(
                model.name,
                built.nr_states,
                f"{query.goal[:3]} {query.optimized.name}, {query.bounded.name} ≤ {query.limit:.6g}",
                theirs.value,
                value,
                theirs.seconds,
                max(seconds - read, found.get("seconds", 0.0)),
                "; ".join(note for note in notes if note),
            )
        )
        print(made[-1], flush=True)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/models/run.sh", description=__doc__)
    parser.add_argument("--models", help="names, separated by commas; all unless said")
    parser.add_argument("--folder", type=Path, help="a folder of files in PRISM's language, instead of those of stormpy")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one answer")
    given = parser.parse_args()
    models = MODELS
    if given.folder:
        files = sorted([*given.folder.glob("*.nm"), *given.folder.glob("*.prism")])
        models = [Model(path.stem, path, {}) for path in files]
    if given.models:
        models = [model for model in models if model.name in given.models.split(",")]
    print("| Model | States | Query | Storm | appropo | Agree | Storm, s | appropo, s | |")
    print("|" + " --- |" * 9)
    all_rows: list[Row] = []
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                all_rows += rows(model, Path(folder), given.limit)
            except Exception as error:
                print(f"| {model.name} | | {str(error).splitlines()[0][:120]} | | | | | | |", flush=True)
    both = [row for row in all_rows if row.agrees() is not None]
    ratios = [row.our_seconds / row.storm_seconds for row in both if row.states >= LARGE]
    print(f"\n{len(all_rows)} queries; both answer {len(both)}, and agree on {sum(bool(row.agrees()) for row in both)}.")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"Models of {LARGE:,} states and more: our time is {mean:.2f} of Storm's, the geometric mean of {len(ratios)}.")
    return 0 if both and all(row.agrees() for row in both) else 1


if __name__ == "__main__":
    sys.exit(main())
