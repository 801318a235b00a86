"""Worlds that are played elsewhere: in processes of this machine, or on Ray."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .._appropo import ProblemError
from ..arguments import number, shown, text, whole
from .pool import Pool
from .recipe import Recipe

#: Streams of episodes that learners play in, unless they are told another number.
NUM_ENVS = 8
#: Seconds that an episode, or the steps of a stream in one batch, may take.
TIMEOUT = 300.0
#: Oracles and methods that learn after every step or episode: there is no batch under one policy for others to play.
LEARN_HERE = frozenset({"q-learning", "model", "universal", "state-augmented", "external"})


@dataclass(frozen=True)
class Processes:
    """Worker processes on this machine: ``ap.solve(problem, workers=ap.Processes(8))``, or ``workers=8`` for short.

    ``timeout`` are the seconds that an episode, or the steps of a stream in one batch, may take: a worker that takes
    longer is replaced, as is one that is killed or raises, and what it was playing is played again from its seed.
    """

    num_workers: int
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        _checked(self)

    def _open(self, recipe: Recipe) -> Pool:
        from .processes import ProcessPool

        return ProcessPool(recipe, self.num_workers, self.timeout)


@dataclass(frozen=True)
class Ray:
    """Worker actors on Ray: ``ap.solve(problem, workers=ap.Ray(num_workers=64, address="auto"))``.

    ``address`` is as for ``ray.init``: "auto" for the cluster that this machine belongs to, None for a new one here.
    Each worker takes ``num_cpus`` of the cluster. ``timeout`` is as for :class:`Processes`. Needs the extra
    ``appropo[ray]``.
    """

    num_workers: int
    address: str | None = None
    num_cpus: float = 1.0
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        _checked(self)
        if self.address is not None:
            text("address", self.address)
        if number("num_cpus", self.num_cpus) < 0:
            raise ProblemError(f"num_cpus is {shown(self.num_cpus)}; expected 0 or more")

    def _open(self, recipe: Recipe) -> Pool:
        from .actors import ActorPool

        return ActorPool(recipe, self.num_workers, self.timeout, self.address, self.num_cpus)


def _checked(workers: Processes | Ray) -> None:
    # 2.0 is a whole number as well.
    object.__setattr__(workers, "num_workers", whole("num_workers", workers.num_workers))
    if number("timeout", workers.timeout) <= 0:
        raise ProblemError(f"timeout is {shown(workers.timeout)}; expected seconds, more than 0")


def stated(workers: Any) -> Processes | Ray | None:
    """Workers as callers name them."""
    if workers is None or isinstance(workers, Processes | Ray):
        return workers
    if isinstance(workers, bool) or not hasattr(workers, "__index__"):
        raise ProblemError(
            f"workers is {shown(workers)}; expected a number of processes, ap.Processes(8) or ap.Ray(num_workers=64)"
        )
    return Processes(whole("workers", workers))


def streams(workers: Processes | Ray, num_envs: Any) -> Any:
    """The streams that learners play in: as many as are asked for, or else a number that no worker changes."""
    num_envs = NUM_ENVS if num_envs is None else num_envs
    count = workers.num_workers
    if isinstance(num_envs, int) and count > num_envs:
        warnings.warn(
            f"learners play in {num_envs} streams, so {count - num_envs} of {count} workers only judge; "
            f"num_envs={count} uses all of them, with another result",
            stacklevel=4,
        )
    return num_envs


def learns_here(resolved: str) -> str | None:
    """Who learns in this process though there are workers, if anyone does, by the resolved text of a problem."""
    chosen: dict[str, str] = dict(re.findall(r'^(method|oracle) = "([^"]+)"', resolved, re.MULTILINE))
    if chosen.get("method") in LEARN_HERE:
        return chosen["method"]
    oracle = chosen.get("oracle")
    return oracle if oracle in LEARN_HERE else None


def tell_who_learns(resolved: str) -> None:
    """Warns where workers can't make learning faster."""
    learner = learns_here(resolved)
    if learner is not None:
        warnings.warn(
            f"{learner} learns in this process, step by step, and workers only judge what it finds; ppo, a2c and the "
            "methods cpo, lagrangian, rcpo and last-iterate sample on workers",
            stacklevel=4,
        )


@contextmanager
def opened(workers: Processes | Ray | None, recipe: Recipe | str) -> Iterator[Pool | None]:
    """Workers that have the world, from here on to the end of a solve. A text says why it is not theirs to play."""
    if workers is None:
        yield None
        return
    if isinstance(recipe, str):
        raise ProblemError(f"workers={shown(workers)}: {recipe}; leave workers out")
    pool = workers._open(recipe)
    try:
        yield pool
    finally:
        pool.close()
