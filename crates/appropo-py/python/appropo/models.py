"""Models whose probabilities are known: in the files of model checkers, as arrays, or as tables of Gymnasium's."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._appropo import Env, ExplicitModel, ProblemError
from .arguments import place, shown
from .extras import needed

#: The state that steps of a table lead to which end the episode.
_END = "terminated"


@dataclass(frozen=True)
class Measuring:
    """A model with the measures that a problem asks for; made by :meth:`Model.measuring`."""

    model: Model
    rewards: tuple[str, ...] | None = None
    reach: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    average: tuple[str, ...] = ()
    share: tuple[str, ...] = ()
    end: tuple[str, ...] = ()

    def _env(self) -> Env:
        rewards = None if self.rewards is None else list(self.rewards)
        return Env.explicit(
            self.model._core,
            rewards,
            list(self.reach),
            list(self.time),
            list(self.average),
            list(self.share),
            list(self.end),
            self.model._file,
            repr(self.model),
        )


class Model:
    """A Markov decision process, or a Markov chain, whose probabilities are known.

    ``transitions`` is one matrix for each action, with a row and a column for every state: an array of three axes, or
    a list of arrays or of sparse matrices. A row of zeros is an action that its state does not have. A single matrix is
    a Markov chain; with ``choices`` it has a row for every choice, and those of state ``s`` are ``choices[s]`` to
    ``choices[s + 1] - 1``.

    ``measures`` are rewards by name: one a state, one a state and an action (or one a row, where there are
    ``choices``), or one a transition, in the same shape as ``transitions``. ``start`` is a state, several that are
    equally likely, or probabilities by state. ``labels`` are states by name, as indices or as a mask. ``choice_labels``
    are names, one an action, or one a row where there are ``choices``.

    >>> model = Model([[[0.5, 0.5], [0, 1]], [[0.9, 0.1], [0, 0]]], {"cost": [[1, 0.2], [0, 0]]}, labels={"end": [1]})
    >>> model
    <Model: 2 states, 3 choices, 5 transitions; rewards cost; labels end>
    """

    _core: ExplicitModel
    _file: str | None = None
    name: str = "model"

    def __init__(
        self,
        transitions: Any,
        measures: Mapping[str, Any] | None = None,
        *,
        choices: Any = None,
        start: int | Sequence[int] | Mapping[int, float] = 0,
        labels: Mapping[str, Any] | None = None,
        choice_labels: Sequence[str] | None = None,
    ) -> None:
        rows = _Rows.of(transitions, choices)
        rewards = [(name, *rows.rewards(name, values)) for name, values in (measures or {}).items()]
        named = [(name, _indices(name, states, rows.states)) for name, states in (labels or {}).items()]
        self._core = ExplicitModel.of_arrays(
            rows.is_chain,
            rows.choices,
            rows.rows,
            rows.targets,
            rows.probabilities,
            _start(start),
            rewards,
            named,
            rows.names(choice_labels),
        )

    @classmethod
    def _of(cls, core: ExplicitModel, name: str, file: str | None = None) -> Model:
        model = cls.__new__(cls)
        model._core, model.name, model._file = core, name, file
        return model

    @classmethod
    def read(cls, path: str | Path) -> Model:
        """The model of a file: ``.drn`` (also packed), ``.umb``, or ``.tra`` with its files beside it."""
        file = place("path", path)
        return cls._of(ExplicitModel.read(file), file.name.partition(".")[0], str(file.absolute()))

    @classmethod
    def from_prism(cls, path: str | Path, constants: Mapping[str, Any] | None = None) -> Model:
        """The model of a file in the language of PRISM, or in JANI, as Storm builds it. Needs ``appropo[storm]``.

        ``constants`` are the values of constants that the file leaves open.
        """
        file = place("path", path)
        with needed("storm"):
            import stormpy
            import stormpy.io
        if not file.is_file():
            raise ProblemError(f"{file}: there is no such file")
        try:
            if file.suffix == ".jani":
                symbolic, _ = stormpy.io.parse_jani_model(str(file))
            else:
                symbolic = stormpy.io.parse_prism_program(str(file))
            if constants:
                symbolic, _ = stormpy.io.instantiate_constants(symbolic, constants)
            built = stormpy.build_model(symbolic, options=stormpy.BuilderOptions(build_full=True))
        except Exception as error:
            raise ProblemError(f"{file}: Storm can't build the model ({error})") from error
        with tempfile.TemporaryDirectory() as folder:
            exported = Path(folder) / f"{file.stem}.drn"
            stormpy.io.export_to_drn(built, str(exported))
            return cls._of(ExplicitModel.read(exported), file.stem)

    @classmethod
    def from_gymnasium(cls, env: Any) -> Model:
        """The table ``P`` of an environment such as FrozenLake, with its reward.

        Steps that end the episode lead to a state of their own, the last one, which is labelled "terminated".
        """
        world = getattr(env, "unwrapped", env)
        table = getattr(world, "P", None)
        if not isinstance(table, Mapping):
            raise ProblemError(f"{shown(env)} has no table P of what can happen; expected an environment with one")
        states = len(table)
        choices, rows = [0], [0]
        targets: list[int] = []
        probabilities: list[float] = []
        rewards: list[float] = []
        for state in range(states):
            for action in sorted(table[state]):
                for probability, following, reward, terminated in table[state][action]:
                    targets.append(states if terminated else int(following))
                    probabilities.append(float(probability))
                    rewards.append(float(reward))
                rows.append(len(targets))
            choices.append(len(rows) - 1)
        targets, probabilities, rewards = [*targets, states], [*probabilities, 1.0], [*rewards, 0.0]
        rows.append(len(targets))
        choices.append(len(rows) - 1)
        given = getattr(world, "initial_state_distrib", None)
        start = {0: 1.0} if given is None else {s: float(p) for s, p in enumerate(given) if p > 0}
        none = np.zeros(0)
        core = ExplicitModel.of_arrays(
            False,
            np.asarray(choices, dtype=np.uint32),
            np.asarray(rows, dtype=np.uint32),
            np.asarray(targets, dtype=np.uint32),
            np.asarray(probabilities, dtype=np.float64),
            list(start.items()),
            [("reward", none, none, np.asarray(rewards, dtype=np.float64))],
            [(_END, [states])],
            None,
        )
        spec = getattr(env, "spec", None)
        return cls._of(core, getattr(spec, "id", None) or type(world).__name__)

    def write(self, path: str | Path) -> None:
        """Writes the model as DRN (``.drn`` or ``.drn.gz``) or UMB (``.umb``), into a file that is not there yet."""
        self._core.write(place("path", path))

    def measuring(
        self,
        *,
        reach: str | Sequence[str] = (),
        time: str | Sequence[str] = (),
        average: str | Sequence[str] = (),
        share: str | Sequence[str] = (),
        end: str | Sequence[str] = (),
        rewards: str | Sequence[str] | None = None,
    ) -> Measuring:
        """The model with more measures, for :class:`Problem`.

        ``reach`` names labels whose probability of being reached is a measure, "reach(goal)", and ``time`` those whose
        expected number of steps is one, "time(busy)". ``average`` names reward structures whose average a step is a
        measure, over all the time of policies that go on for ever, "average(power)", and ``share`` labels whose share
        of all time is one, "share(busy)"; both need discount 1 and no horizon. In states with one of the labels ``end``
        the episode ends. ``rewards`` are the reward structures that are measures; all of them unless said.
        """
        chosen = None if rewards is None else _names(rewards)
        return Measuring(self, chosen, _names(reach), _names(time), _names(average), _names(share), _names(end))

    @property
    def states(self) -> int:
        """Number of states."""
        return self._core.states

    @property
    def choices(self) -> int:
        """Number of choices, over all states."""
        return self._core.choices

    @property
    def transitions(self) -> int:
        """Number of transitions."""
        return self._core.transitions

    @property
    def start(self) -> dict[int, float]:
        """Where episodes start, with probabilities."""
        return dict(self._core.start)

    @property
    def rewards(self) -> list[str]:
        """The measures that the reward structures are."""
        return self._core.rewards

    @property
    def labels(self) -> dict[str, NDArray[np.uint32]]:
        """The labels, each with its states."""
        return dict(self._core.labels)

    @property
    def checksum(self) -> str:
        """The same for a model in whatever format it is kept."""
        return self._core.checksum

    def arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]:
        """The first choice of each state and the end, the first transition of each choice and the end, the state that
        each transition leads to, and its probability. The last three are a CSR matrix of choices by states."""
        return self._core.arrays()

    def state(self, index: int) -> dict[str, Any]:
        """What is known of a state: the values of its variables, its labels, and its choices."""
        values, labels, choices = self._core.state(index)
        return {"values": values, "labels": labels, "choices": choices}

    def __repr__(self) -> str:
        size = f"{self.states} states, {self.choices} choices, {self.transitions} transitions"
        rewards = "".join([f"; rewards {', '.join(self.rewards)}"] if self.rewards else [])
        labels = "".join([f"; labels {', '.join(self.labels)}"] if self.labels else [])
        return f"<Model: {size}{rewards}{labels}>"


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _start(start: Any) -> list[tuple[int, float]]:
    if isinstance(start, Mapping):
        return [(int(state), float(probability)) for state, probability in start.items()]
    states = np.atleast_1d(np.asarray(start))
    if states.ndim != 1 or not len(states) or not np.issubdtype(states.dtype, np.integer) or states.min() < 0:
        raise ProblemError(f"start is {shown(start)}; expected a state, several, or probabilities by state")
    return [(int(state), 1.0 / len(states)) for state in states]


def _indices(name: str, states: Any, count: int) -> list[int]:
    """States as indices, given so or as a mask."""
    array = np.asarray(states)
    if array.dtype == bool:
        if array.shape != (count,):
            raise ProblemError(f'the mask of the label "{name}" has the shape {array.shape}; expected ({count},)')
        return [int(state) for state in np.flatnonzero(array)]
    if array.size and (not np.issubdtype(array.dtype, np.integer) or array.min() < 0):
        raise ProblemError(f'the label "{name}" is {shown(states)}; expected indices of states, or a mask')
    return [int(state) for state in np.atleast_1d(array)] if array.size else []


def _entries(what: str, matrix: Any) -> tuple[int, int, NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """The shape of a matrix, and its non-zero entries by row."""
    if hasattr(matrix, "tocsr"):
        sparse = matrix.tocsr()
        lines = np.repeat(np.arange(sparse.shape[0]), np.diff(sparse.indptr))
        values = np.asarray(sparse.data, dtype=np.float64)
        return sparse.shape[0], sparse.shape[1], lines, np.asarray(sparse.indices), values
    dense = np.asarray(matrix, dtype=np.float64)
    if dense.ndim != 2:
        raise ProblemError(
            f"{what} has {dense.ndim} axes; expected matrices, one an action, or one with a row a choice"
        )
    lines, columns = np.nonzero(dense)
    return dense.shape[0], dense.shape[1], lines, columns, dense[lines, columns]


@dataclass
class _Rows:
    """Transitions by compressed rows, and where rewards for them stand."""

    is_chain: bool
    states: int
    actions: int | None
    choices: NDArray[np.uint32]
    rows: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    probabilities: NDArray[np.float64]
    #: For every choice its state, and the action or the row; for every transition its choice.
    state_of: NDArray[np.int64]
    row_of: NDArray[np.int64]
    choice_of: NDArray[np.int64]

    @classmethod
    def of(cls, transitions: Any, choices: Any) -> _Rows:
        is_one = hasattr(transitions, "tocsr") or np.ndim(transitions[0]) == 1
        if choices is not None and not is_one:
            raise ProblemError("choices is for one matrix with a row for every choice; leave it out")
        if is_one:
            count, states, lines, columns, values = _entries("transitions", transitions)
            firsts = np.arange(count + 1) if choices is None else np.asarray(choices, dtype=np.int64)
            if choices is None and count != states:
                raise ProblemError(
                    f"transitions has {count} rows and {states} columns; expected as many, or choices that say where "
                    "the rows of each state begin"
                )
            if firsts.shape != (states + 1,) or firsts[0] != 0 or firsts[-1] != count or np.any(np.diff(firsts) < 0):
                raise ProblemError(f"choices is {shown(choices)}; expected {states + 1} numbers from 0 to {count}")
            state_of = np.repeat(np.arange(states), np.diff(firsts))
            row_of, actions, is_chain = np.arange(count), None, choices is None
        else:
            parts = [_entries("transitions", matrix) for matrix in transitions]
            states, actions = parts[0][1], len(parts)
            for rows_found, columns_found, *_ in parts:
                if (rows_found, columns_found) != (states, states):
                    raise ProblemError(
                        f"transitions has a matrix of {rows_found} by {columns_found}; expected {states} by {states}"
                    )
            # By state, then by action; rows of zeros are no choices.
            lines = np.concatenate([part[2].astype(np.int64) * actions + a for a, part in enumerate(parts)])
            columns = np.concatenate([part[3] for part in parts])
            values = np.concatenate([part[4] for part in parts])
            order = np.argsort(lines, kind="stable")
            lines, columns, values = lines[order], columns[order], values[order]
            there = np.unique(lines)
            state_of, row_of = there // actions, there % actions
            lines = np.searchsorted(there, lines)
            firsts = np.concatenate([[0], np.cumsum(np.bincount(state_of, minlength=states))])
            count, is_chain = len(there), False
        ends = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=count))])
        return cls(
            is_chain,
            states,
            actions,
            firsts.astype(np.uint32),
            ends.astype(np.uint32),
            columns.astype(np.uint32),
            np.ascontiguousarray(values, dtype=np.float64),
            state_of.astype(np.int64),
            row_of.astype(np.int64),
            lines.astype(np.int64),
        )

    def rewards(self, name: str, given: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """What is earned in states, by choices and in transitions."""
        none = np.zeros(0)
        sparse = hasattr(given, "tocsr")
        several = not sparse and len(given) and any(hasattr(part, "tocsr") for part in given)
        if not sparse and not several:
            array = np.asarray(given, dtype=np.float64)
            if array.shape == (self.states,):
                return np.ascontiguousarray(array), none, none
            if self.actions is None and array.shape == (len(self.row_of),):
                return none, np.ascontiguousarray(array), none
            if self.actions is not None and array.shape == (self.states, self.actions):
                return none, np.ascontiguousarray(array[self.state_of, self.row_of]), none
        matrices = list(given) if self.actions is not None and not sparse else [given]
        shape = (self.states if self.actions is not None else len(self.row_of), self.states)
        if len(matrices) != (self.actions or 1) or any(np.shape(matrix) != shape for matrix in matrices):
            found = np.shape(given)
            raise ProblemError(
                f'the measure "{name}" has the shape {found}; expected one number a state, one a state and an action '
                "(a row, where there are choices), or the shape of transitions"
            )
        earned = np.zeros(len(self.targets))
        lines = self.state_of[self.choice_of] if self.actions is not None else self.row_of[self.choice_of]
        which = self.row_of[self.choice_of] if self.actions is not None else np.zeros(len(lines), dtype=np.int64)
        for action, matrix in enumerate(matrices):
            here = which == action
            rows = matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix, dtype=np.float64)
            earned[here] = np.asarray(rows[lines[here], self.targets[here]]).ravel()
        return none, none, earned

    def names(self, labels: Sequence[str] | None) -> tuple[list[str], list[int]] | None:
        """The names of choices, one an action or one a row."""
        if labels is None:
            return None
        expected = len(self.row_of) if self.actions is None else self.actions
        if len(labels) != expected:
            raise ProblemError(f"choice_labels has {len(labels)} names; expected {expected}")
        return [str(label) for label in labels], [int(row) for row in self.row_of]
