"""Spaces of Gymnasium as the solver sees them: a number of elements that can be counted, or a vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ._appropo import ProblemError, WorldError
from .arguments import numbers, shown

#: The size of a space: how many elements it has, or the bounds of each number.
Size = int | list[tuple[float, float]]
#: Vectors of whole numbers are counted where there are no more of them than this.
COUNTED = 5_000
#: Whole numbers become indicators of their values where there are no more of these than this.
INDICATED = 1_000


@dataclass(frozen=True)
class Flattened:
    """A space of observations as the solver sees it."""

    size: Size
    flatten: Callable[[Any], Any]
    #: Turns what the solver sees, a vector, into an observation.
    unflatten: Callable[[Any], Any]
    #: The axes of an array of one observation; None where it is no array.
    ndim: int | None


def flattened(space: Any, counts: bool = True) -> Flattened:
    """A space of observations as a number of elements or as a vector; whole numbers are told apart if ``counts``."""
    from gymnasium import spaces

    axes = None if space.shape is None else len(space.shape)
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return Flattened(int(space.n), counter("observation", space), lambda seen: int(seen[0]) + start, 0)
    if counts and (whole := Whole.of(space)) is not None:
        if whole.size <= COUNTED:
            return Flattened(whole.size, whole.place, whole.at, axes)
        if isinstance(space, spaces.Box) and whole.values <= INDICATED:
            return Flattened([(0.0, 1.0)] * whole.values, whole.indicators, whole.indicated, axes)
    if isinstance(space, spaces.Box):
        shaped = lambda seen: seen.astype(space.dtype).reshape(space.shape)  # noqa: E731
        return Flattened([(-np.inf, np.inf)] * prod(space.shape), lambda seen: seen, shaped, axes)
    try:
        flat = spaces.flatten_space(space)
        size: Size = [(-np.inf, np.inf)] * flat.shape[0]
    except (NotImplementedError, AttributeError, TypeError):
        raise ProblemError(f"the observation space is {space}; expected one that can be made a vector") from None

    def see(seen: Any) -> Any:
        try:
            return spaces.flatten(space, seen)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise _unlike(seen, space) from error

    return Flattened(size, see, lambda seen: spaces.unflatten(space, seen), axes)


def _unlike(seen: Any, space: Any) -> WorldError:
    return WorldError(f"the observation is {shown(seen)}; expected one of {space}")


@dataclass(frozen=True)
class Whole:
    """A space of whole numbers."""

    space: Any
    #: The least value of every number, and how many it has.
    ranges: list[tuple[int, int]]

    @staticmethod
    def of(space: Any) -> Whole | None:
        """The space, if it is one of whole numbers."""
        ranges = _ranges(space)
        return None if ranges is None else Whole(space, ranges)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return prod(count for _, count in self.ranges)

    @property
    def values(self) -> int:
        """How many values all numbers have together."""
        return sum(count for _, count in self.ranges)

    def place(self, element: Any) -> int:
        """Where an element stands when all are counted, the last number fastest."""
        place = 0
        for off, (_, count) in zip(self._offsets(element), self.ranges, strict=True):
            place = place * count + off
        return place

    def at(self, seen: Any) -> Any:
        """The element at a place."""
        place, values = int(seen[0]), []
        for least, count in reversed(self.ranges):
            values.append(least + place % count)
            place //= count
        return _built(self.space, values)

    def indicators(self, element: Any) -> Any:
        """A 1 for the value of every number among 0s for all its others, as Gymnasium has it for MultiDiscrete."""
        flat, start = np.zeros(self.values), 0
        for off, (_, count) in zip(self._offsets(element), self.ranges, strict=True):
            flat[start + off] = 1.0
            start += count
        return flat

    def indicated(self, seen: Any) -> Any:
        """The element that indicators are of."""
        values, start = [], 0
        for least, count in self.ranges:
            values.append(least + int(np.argmax(seen[start : start + count])))
            start += count
        return _built(self.space, values[::-1])

    def _offsets(self, element: Any) -> list[int]:
        """How far every number is from its least."""
        offsets = []
        try:
            for value, (least, count) in zip(_values(self.space, element), self.ranges, strict=True):
                off = int(value) - least
                if off + least != value or not 0 <= off < count:
                    raise ValueError
                offsets.append(off)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            raise _unlike(element, self.space) from None
        return offsets


def _ranges(space: Any) -> list[tuple[int, int]] | None:
    """The least value of every whole number, and how many it has; None where not all are such."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return [(int(space.start), int(space.n))]
    if isinstance(space, spaces.MultiBinary):
        return [(0, 2)] * prod(space.shape)
    if isinstance(space, spaces.MultiDiscrete):
        return [(int(least), int(count)) for least, count in zip(space.start.flat, space.nvec.flat, strict=True)]
    if isinstance(space, spaces.Box) and space.dtype.kind in "iu":
        bounds = zip(space.low.flat, space.high.flat, strict=True)
        return [(int(low), int(high) - int(low) + 1) for low, high in bounds]
    if isinstance(space, spaces.Tuple | spaces.Dict):
        parts = [_ranges(part) for part in _parts(space)]
        return None if None in parts else [each for part in parts if part is not None for each in part]
    return None


def _parts(space: Any) -> list[Any]:
    return list(space.spaces.values() if isinstance(space.spaces, dict) else space.spaces)


def _values(space: Any, element: Any) -> list[Any]:
    """The numbers of an element."""
    if hasattr(space, "spaces"):
        keys = space.spaces if isinstance(space.spaces, dict) else range(len(space.spaces))
        return [value for key in keys for value in _values(space.spaces[key], element[key])]
    return np.asarray(element).ravel().tolist()


def _built(space: Any, values: list[int]) -> Any:
    """The element of these numbers, of which the last come first; they are taken away."""
    if hasattr(space, "spaces"):
        if isinstance(space.spaces, dict):
            return {key: _built(part, values) for key, part in space.spaces.items()}
        return tuple(_built(part, values) for part in space.spaces)
    if space.shape == ():
        return space.dtype.type(values.pop())
    taken = [values.pop() for _ in range(prod(space.shape))]
    return np.asarray(taken, dtype=space.dtype).reshape(space.shape)


def counter(what: str, space: Any) -> Callable[[Any], int]:
    """Counts the elements of a Discrete space from 0."""
    start, end = int(space.start), int(space.start + space.n)

    def count(element: Any) -> int:
        number = element if type(element) is int else _single(element)
        if not start <= number < end or number != int(number):
            raise WorldError(f"the {what} is {shown(element)}; expected one of {space}")
        return int(number) - start

    return count


def _single(value: Any) -> float:
    """The one number that a value is; NaN where it is none."""
    try:
        array = np.asarray(value)
        return array.item() if array.dtype.kind in "biuf" else np.nan
    except ValueError:
        return np.nan


def chooser(space: Any) -> Callable[[Any], Any]:
    """Turns what a policy of Python's does into what the solver does."""
    from gymnasium import spaces

    what = "policy's action"
    if isinstance(space, spaces.Discrete):
        return counter(what, space)

    def choose(action: Any) -> Any:
        flat = numbers(f"the {what}", action, WorldError).ravel()
        if flat.size != space.low.size:
            raise WorldError(f"the {what} is {shown(action)}; expected {space.low.size} numbers")
        shaped = flat.astype(space.dtype).reshape(space.shape)
        if np.any(shaped < space.low) or np.any(shaped > space.high):
            raise WorldError(f"the {what} is {shown(action)}; expected one of {space}; numpy.clip keeps to its bounds")
        return flat

    return choose


def acted(space: Any) -> Callable[[Any], Any]:
    """Turns what the solver does into an action of this space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return (lambda action: action + start) if start else (lambda action: action)
    if isinstance(space, spaces.Box):
        shape, dtype = space.shape, space.dtype
        if dtype.kind in "iu":
            return lambda action: np.rint(action).astype(dtype).reshape(shape)
        return lambda action: np.asarray(action, dtype=dtype).reshape(shape)
    raise ProblemError(f"the action space is {space}; expected Discrete or Box; wrap the environment to have one")


def action_size(space: Any) -> Size:
    """How many actions there are, or their bounds."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return int(space.n)
    acted(space)
    # A file has no infinity.
    largest = np.finfo(np.float64).max
    low, high = (
        np.nan_to_num(np.asarray(b, dtype=np.float64).ravel(), posinf=largest, neginf=-largest)
        for b in (space.low, space.high)
    )
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
