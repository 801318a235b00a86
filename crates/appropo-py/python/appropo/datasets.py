"""Data sets: logged episodes to learn from, and how to log them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _appropo
from ._appropo import ProblemError
from .arguments import number, numbers, place, shown, whole
from .environments import Measured, Transition, measured_by, with_reward_and_steps
from .extras import needed
from .policy import MixedPolicy
from .spaces import Size, flattened
from .spaces import action_size as size_of_actions

if TYPE_CHECKING:
    from .problem import Problem
    from .result import Result


class Dataset:
    """Logged episodes: what was seen, what was done, and every measurement of every step."""

    def __init__(self, core: _appropo.Dataset, file: Path | None = None) -> None:
        self._core, self._path = core, file

    @classmethod
    def read(cls, path: str | Path, *, observations: Size | None = None, actions: Size | None = None) -> Dataset:
        """The data set of a CSV or Parquet file.

        Counted observations and actions are taken to be as many as were logged, and numbers to have no bounds, unless
        ``observations`` and ``actions`` say otherwise: a number of elements, or the bounds of each number.
        """
        file = place("path", path)
        core = _appropo.Dataset.read(file)
        if observations is not None or actions is not None:
            core = core.with_spaces(observations, actions)
        return cls(core, file.absolute())

    @classmethod
    def from_arrays(
        cls,
        observations: Any,
        actions: Any,
        measures: Mapping[str, Any],
        *,
        next_observations: Any,
        terminated: Any,
        truncated: Any,
        observation_size: Size | None = None,
        action_size: Size | None = None,
    ) -> Dataset:
        """Steps in order, one a row of every array; an episode ends where ``terminated`` or ``truncated`` is true.

        Observations and actions that are whole numbers in arrays of one axis are counted; others are numbers.
        """
        seen, seen_size = _rows("observations", observations, observation_size)
        next_seen, _ = _rows("next_observations", next_observations, seen_size)
        done, done_size = _rows("actions", actions, action_size)
        if observation_size is None and isinstance(seen_size, int) and len(next_seen):
            seen_size = max(seen_size, int(next_seen.max()) + 1)
        columns = {name: _column(name, values) for name, values in measures.items()}
        ends = np.asarray(terminated, dtype=bool) | np.asarray(truncated, dtype=bool)
        arrays = {"next_observations": next_seen, "actions": done, "terminated": ends, **columns}
        for name, array in arrays.items():
            if len(array) != len(seen):
                raise ProblemError(f"{name} has {len(array)} rows; expected {len(seen)}, as observations has")
        if not len(seen) or not ends[-1]:
            raise ProblemError(
                "the last episode never ends; write True in the last row of truncated where a log breaks off"
            )
        lasts = np.flatnonzero(ends)
        firsts = np.concatenate([[0], lasts[:-1] + 1])
        inner = ~ends[:-1]
        if not np.array_equal(seen[1:][inner], next_seen[:-1][inner]):
            row = int(np.flatnonzero(inner & np.any(seen[1:] != next_seen[:-1], axis=1))[0])
            raise ProblemError(
                f"row {row + 1} of observations is {shown(seen[row + 1])}; expected {shown(next_seen[row])}, "
                f"row {row} of next_observations"
            )
        rows = [
            np.concatenate([seen[first : last + 1], next_seen[last : last + 1]])
            for first, last in zip(firsts, lasts, strict=True)
        ]
        lengths = (lasts - firsts + 1).tolist()
        return cls(_built(columns, seen_size, done_size, lengths, np.asarray(terminated)[lasts], rows, done))

    @classmethod
    def from_minari(cls, dataset: Any, measure: Mapping[str, Measured] | None = None) -> Dataset:
        """A data set of Minari, or the one of this id. Needs the extra ``appropo[minari]``.

        ``measure`` says how each measure is found in a step, as in :class:`Problem`; the reward and the number of
        steps are always measured.
        """
        with needed("minari"):
            import minari
        loaded = minari.load_dataset(dataset) if isinstance(dataset, str) else dataset
        named = with_reward_and_steps({} if measure is None else measure)
        how = {name: measured_by(name, of) for name, of in named.items()}
        seen_space, done_space = flattened(loaded.observation_space), loaded.action_space
        act = flattened(done_space)
        rows: list[NDArray[np.float64]] = []
        done: list[NDArray[np.float64]] = []
        measured: list[dict[str, NDArray[np.float64]]] = []
        lengths: list[int] = []
        terminated: list[bool] = []
        for episode in loaded.iterate_episodes():
            length = len(episode.rewards)
            seen = [_element(episode.observations, i) for i in range(length + 1)]
            taken = [_element(episode.actions, i) for i in range(length)]
            infos = episode.infos if isinstance(getattr(episode, "infos", None), Mapping) else {}
            for i in range(length):
                step = Transition(
                    previous=seen[i],
                    action=taken[i],
                    observation=seen[i + 1],
                    reward=episode.rewards[i],
                    terminated=bool(episode.terminations[i]),
                    truncated=bool(episode.truncations[i]),
                    # Minari keeps the info of the reset before those of steps.
                    info={key: _element(value, i + 1) for key, value in infos.items()},
                )
                found = {name: of(step) if callable(of) else of for name, of in how.items()}
                measured.append({name: np.atleast_1d(numbers(name, value)).ravel() for name, value in found.items()})
            rows.append(np.array([np.atleast_1d(seen_space.flatten(one)).ravel() for one in seen], dtype=np.float64))
            done.extend(np.atleast_1d(act.flatten(one)).ravel() for one in taken)
            lengths.append(length)
            terminated.append(bool(episode.terminations[-1]))
        columns = {name: np.array([one[name] for one in measured]) for name in how}
        core = _built(columns, seen_space.size, size_of_actions(done_space), lengths, terminated, rows, np.array(done))
        return cls(core)

    def write(self, path: str | Path) -> Path:
        """Writes a file whose name ends in .csv or .parquet, and that is not there yet."""
        file = place("path", path)
        self._core.write(file)
        self._path = file.absolute()
        return file

    @property
    def episodes(self) -> int:
        """How many episodes there are."""
        return self._core.episodes

    @property
    def steps(self) -> int:
        """Steps of all episodes."""
        return self._core.steps

    @property
    def measures(self) -> dict[str, int]:
        """The measures, with their numbers of entries."""
        return dict(self._core.measures)

    @property
    def checksum(self) -> str:
        """A checksum of all that was logged, whatever file it is in."""
        return self._core.checksum

    def mean(self, *, discount: float, horizon: int | None = None) -> dict[str, Any]:
        """The mean discounted measurement of its episodes: a number or an array a measure."""
        horizon = None if horizon is None else whole("horizon", horizon)
        mean, found, first = self._core.mean(number("discount", discount), horizon), {}, 0
        for name, entries in self._core.measures:
            part = mean[first : first + entries]
            found[name] = float(part[0]) if entries == 1 else part
            first += entries
        return found

    @property
    def _file(self) -> str:
        """The file that it is in, for options that name files."""
        if self._path is None:
            raise ProblemError("this data set is in no file; write it first, with dataset.write(path)")
        return str(self._path)

    def __repr__(self) -> str:
        return f"<Dataset: {self.episodes} episodes of {self.steps} steps, measuring {', '.join(self.measures)}>"


def record(
    problem: Problem,
    policy: Result | MixedPolicy | None = None,
    *,
    episodes: int = 1000,
    epsilon: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Plays episodes and logs every step.

    ``policy`` is a result or its policy; without one every action is drawn at random, and with it each with probability
    ``epsilon``.
    """
    of = getattr(policy, "policy", policy)
    if of is not None and not isinstance(of, MixedPolicy):
        raise ProblemError(f"policy is {shown(policy)}; expected a result, its policy, or None for random actions")
    core = None if of is None else of._core
    episodes, seed = whole("episodes", episodes), whole("seed", seed, least=0)
    return Dataset(_appropo.record(problem._core, core, episodes, number("epsilon", epsilon), seed))


def _rows(what: str, values: Any, size: Size | None) -> tuple[NDArray[np.float64], Size]:
    """An array of one row a step, and what its rows are elements of."""
    array = np.asarray(values)
    is_counted = array.ndim == 1 and array.dtype.kind in "bui" if size is None else isinstance(size, int)
    rows = numbers(what, array, finite=False).reshape(len(array), -1) if array.ndim else np.zeros((0, 1))
    if size is not None:
        return rows, size
    if is_counted:
        return rows, int(rows.max()) + 1 if len(rows) else 1
    return rows, [(-np.inf, np.inf)] * rows.shape[1]


def _column(name: str, values: Any) -> NDArray[np.float64]:
    array = numbers(f"measures[{name!r}]", values, finite=False)
    return array.reshape(len(array), -1) if array.ndim else np.zeros((0, 1))


def _element(values: Any, i: int) -> Any:
    """The i-th of values that may be kept in dictionaries or tuples, part by part."""
    if isinstance(values, Mapping):
        return {key: _element(part, i) for key, part in values.items()}
    if isinstance(values, tuple):
        return tuple(_element(part, i) for part in values)
    return values[i]


def _built(
    columns: Mapping[str, NDArray[np.float64]],
    seen: Size,
    done: Size,
    lengths: list[int],
    terminated: Any,
    rows: list[NDArray[np.float64]],
    actions: NDArray[np.float64],
) -> _appropo.Dataset:
    measures = [(name, array.shape[1]) for name, array in columns.items()]
    z = np.concatenate(list(columns.values()), axis=1) if columns else np.zeros((len(actions), 0))
    flat = [np.ascontiguousarray(part, dtype=np.float64).ravel() for part in (np.concatenate(rows), actions, z)]
    return _appropo.Dataset.of_arrays(measures, seen, done, lengths, [bool(end) for end in terminated], *flat)
