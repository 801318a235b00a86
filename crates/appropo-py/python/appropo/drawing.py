"""Who draws the runs of a study: threads, processes, and whatever takes a function."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from . import _appropo
from ._appropo import ProblemError, RunError
from .arguments import shown
from .problem import Problem
from .progress import Progress
from .workers import Ray
from .workers.cluster import DRAW, LOST, Cluster

#: Seconds between looks at those who draw elsewhere.
LOOK = 0.2
#: Seconds that a process has to write its checkpoints.
GRACE = 10.0
#: What to do once a cluster is gone.
AGAIN = "start it, or another, and call ap.study again, which goes on where it was and runs nothing twice"
#: Processes in a row that may die without any run getting on.
DEATHS = 20


@dataclass(frozen=True)
class Drawing:
    """How runs are drawn."""

    checkpoint_every: float
    expire_after: float
    retry: bool

    def draw(self, study: _appropo.Study, threads: int, line: Progress | None = None, watch: Any = None) -> bool:
        """Draws on threads; 0 are as many as there are processors. Returns whether all runs have ended."""

        def seen(progress: dict[str, Any]) -> Any:
            if line is not None:
                line.study(progress["text"])
            return None if watch is None else watch()

        try:
            return study.draw(threads, self.checkpoint_every, self.expire_after, self.retry, seen)
        except KeyboardInterrupt:
            return False


@dataclass(frozen=True)
class Order:
    """A study as it was asked for, without its problems."""

    folder: Path
    methods: dict[str, dict[str, Any]]
    seeds: list[int]
    objective: tuple[Any, bool] | None
    settings: dict[str, Any]
    drawing: Drawing

    def plan(self, problems: Sequence[Problem], planned: set[str] | None = None) -> tuple[_appropo.Study, list[Any]]:
        """The study, and what must live as long as it is used."""
        runs, left_out, kept = [], [], list[Any](problems)
        for problem in problems:
            core = problem._core
            if self.objective is not None:
                core = core.with_objective(*self.objective)
            for name, method in self.methods.items():
                for twice in method.keys() & self.settings.keys():
                    raise ProblemError(f'{twice} is given for all methods and for "{name}"; leave one of them out')
                try:
                    plans = [problem._plan(core, {**self.settings, **method, "seed": seed}) for seed in self.seeds]
                except ProblemError as error:
                    # What no method can take is a mistake; what one can't, a reason to leave that one out.
                    left_out.append((problem.name, name, error))
                    continue
                runs += [(core, plan, name) for plan, _ in plans]
                kept += [core, *(asked for _, asked in plans)]
        if left_out and not runs:
            raise left_out[0][2]
        reasons = [(problem, name, str(error)) for problem, name, error in left_out]
        return _appropo.Study(self.folder, runs, reasons, planned), kept


class Future(Protocol):
    """What ``submit`` returns."""

    def done(self) -> bool:
        """Whether the function has ended."""

    def result(self) -> Any:
        """What it returned; raises what it raised."""


class Executor(Protocol):
    """Whatever runs a function elsewhere: an executor of ``concurrent.futures``, a Dask client, and the like."""

    def submit(self, function: Callable[[bytes], Any], argument: bytes, /) -> Future:
        """Runs ``function(argument)``."""


@dataclass
class Elsewhere:
    """Where others draw, and how many of them there are unless it is said."""

    executor: Any
    count: int = field(default_factory=lambda: os.cpu_count() or 1)


def stated(where: Any) -> Elsewhere | None:
    """Where runs are drawn, as callers name it; None for threads of this process."""
    if where == "threads":
        return None
    if where == "processes":
        return Elsewhere(None)
    count = getattr(where, "num_workers", None)
    if hasattr(where, "submit"):
        known = count or getattr(where, "_max_workers", None)
        return Elsewhere(where, known) if isinstance(known, int) else Elsewhere(where)
    if isinstance(count, int) and hasattr(where, "address"):
        return Elsewhere(where, count)
    if isinstance(count, int):
        return Elsewhere(None, count)
    raise ProblemError(
        f'where is {shown(where)}; expected "threads", "processes", ap.Ray(num_workers=...), or an object with '
        "submit(function, argument), such as an executor"
    )


def drawn_elsewhere(
    where: Elsewhere,
    order: Order,
    study: _appropo.Study,
    functions: list[Callable[[], Problem]],
    names: set[str],
    count: int | None,
    line: Progress | None,
) -> bool:
    """Has others draw until all runs have ended, or Ctrl-C is pressed. Returns whether all have."""
    packed = _packed(order, functions, names)
    seen = Seen(study, line)
    draw: Callable[[Any, bytes, int, Seen], None] = _by_processes
    if isinstance(where.executor, Ray):
        draw = _by_ray
    elif where.executor is not None:
        draw = _by_executor
    try:
        draw(where.executor, packed, min(count or where.count, max(1, len(study.states()))), seen)
    except KeyboardInterrupt:
        return False
    return seen.look().left == 0


@dataclass
class Count:
    """How many runs have ended, and how many have not."""

    ended: int
    left: int


class Seen:
    """What is seen of a study from outside."""

    def __init__(self, study: _appropo.Study, line: Progress | None) -> None:
        self._study, self._line = study, line
        self._start, self._before = time.monotonic(), -1

    def look(self) -> Count:
        """Counts, and shows the counts."""
        states = [state for _, state, _, _ in self._study.states()]
        done, failed, running = (states.count(word) for word in ("done", "failed", "running"))
        count = Count(done + failed, len(states) - done - failed)
        if self._before < 0:
            self._before = count.ended
        if self._line is not None:
            shown = f"{done} of {len(states)} runs done, {running} running, {failed} failed"
            since = count.ended - self._before
            if since and count.left:
                shown += f", about {(time.monotonic() - self._start) * count.left / since:.0f} s left"
            self._line.study(shown)
        return count


def _packed(order: Order, functions: list[Callable[[], Problem]], names: set[str]) -> bytes:
    """All that another process needs. Functions of the main program are part of it where cloudpickle is there."""
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        return pickle.dumps((sys.path, dumps((order, functions, names))))
    except Exception as error:
        # Pickling raises whatever the object's own methods do.
        raise ProblemError(
            f"the study can't be sent to other processes ({type(error).__name__}: {error}); pass problem files, or "
            "functions of a module that make the problems, and methods by name or as ap.PPO(...) and the like; or use "
            'where="threads"'
        ) from error


def draw_packed(packed: bytes) -> bool:
    """Draws runs of a study in this process, as one of several, until all have ended."""
    path, inner = pickle.loads(packed)
    sys.path.extend(place for place in path if place not in sys.path)
    order, functions, names = pickle.loads(inner)
    study, _kept = order.plan([function() for function in functions], names)
    parent = os.getppid()
    # Whoever asked for it is gone where the parent is another.
    return bool(order.drawing.draw(study, 1, watch=lambda: os.getppid() == parent))


def _by_processes(_: None, packed: bytes, count: int, seen: Seen) -> None:
    """Draws in processes, and replaces those that die."""
    processes = [_started(packed) for _ in range(count)]
    deaths, ended = 0, seen.look().ended
    try:
        while processes:
            time.sleep(LOOK)
            now = seen.look()
            deaths, ended = (deaths, ended) if now.ended == ended else (0, now.ended)
            for process in [process for process in processes if process.poll() is not None]:
                processes.remove(process)
                said = process.communicate()[0].decode(errors="replace").strip()
                if process.returncode == 1:
                    raise RunError(f"a process of the study ended: {said.splitlines()[-1] if said else 'unknown'}")
                if process.returncode == 0 or now.left == 0:
                    continue
                deaths += 1
                if deaths > DEATHS:
                    raise RunError(
                        f"{deaths} processes in a row ended without a word (status {process.returncode}); look for "
                        'memory that runs out, or try where="threads"'
                    )
                processes.append(_started(packed))
    finally:
        _end(processes)


def _started(packed: bytes) -> subprocess.Popen[bytes]:
    # Not a fork: the library has threads. Not multiprocessing: that would import the main program again.
    command = [sys.executable, "-c", "from appropo.drawing import main; main()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with suppress(BrokenPipeError):
        assert process.stdin is not None
        process.stdin.write(packed)
        process.stdin.close()
        process.stdin = None
    return process


def main() -> None:
    """Draws runs of the study that standard input states. Its last line says what went wrong."""
    try:
        # Status 2 is that of a process that was stopped, which has said so by its claims.
        sys.exit(0 if draw_packed(sys.stdin.buffer.read()) else 2)
    except Exception as error:
        print(said(error), flush=True)
        sys.exit(1)


def said(error: Exception) -> str:
    """What went wrong, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Has processes write their checkpoints and end."""
    for process in processes:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    end = time.monotonic() + GRACE
    for process in processes:
        try:
            process.communicate(timeout=max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _by_executor(executor: Any, packed: bytes, count: int, seen: Seen) -> None:
    futures = [executor.submit(draw_packed, packed) for _ in range(count)]
    while not all(future.done() for future in futures):
        time.sleep(LOOK)
        seen.look()
    failures = []
    for future in futures:
        try:
            future.result()
        except Exception as error:
            # What a worker that is gone raises is the executor's own.
            failures.append(error)
    if failures and seen.look().left:
        raise RunError(_early(len(failures), count, said(failures[0]))) from failures[0]


def _by_ray(ray: Ray, packed: bytes, count: int, seen: Seen) -> None:
    failures = []
    with Cluster(ray.address, ray.num_cpus, packed, AGAIN) as cluster:
        for number in range(count):
            cluster.send(DRAW, number)
        left = count
        while left:
            for what, _, has_failed, parts in cluster.receive(LOOK):
                left -= 1
                if what == LOST or has_failed:
                    failures.append(parts[0].decode())
            seen.look()
    if failures and seen.look().left:
        raise RunError(_early(len(failures), count, failures[0]))


def _early(failures: int, count: int, error: str) -> str:
    return f"{failures} of {count} who drew ended early ({error}); the same call goes on where they were"
