"""What callers pass, checked where it enters. Messages say what was found and what was expected."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._appropo import AppropoError, ProblemError

Kind = type[AppropoError]


def shown(value: Any) -> str:
    """A value as messages show it: on one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def counted(number: int, word: str) -> str:
    """ "1 round", "2 rounds"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def meant(name: str, known: Iterable[str]) -> str:
    """The known name that is most like one that is not known, as messages ask for it."""
    close = difflib.get_close_matches(name, known, n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def whole(what: str, value: Any, least: int = 1, error: Kind = ProblemError) -> int:
    """A whole number. ``2e4`` is one too."""
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError:
        number = -1
    if not least <= number < 2**64:
        expected = f"{least} or more" if number < least else "below 2**64"
        raise error(f"{what} is {shown(value)}; expected a whole number, {expected}")
    return number


def numbers(what: str, value: Any, error: Kind = ProblemError, *, finite: bool = True) -> NDArray[np.float64]:
    """Numbers: one, or an array of them."""
    try:
        array = np.asarray(value)
        # NumPy would take texts, complex numbers and None for numbers as well.
        if array.dtype.kind not in "biufO" or array.dtype.kind == "O" and any(entry is None for entry in array.flat):
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{what} is {shown(value)}; expected numbers") from None
    if finite and not np.isfinite(array).all():
        raise error(f"{what} is {shown(value)}; expected finite numbers")
    return array


def number(what: str, value: Any, error: Kind = ProblemError) -> float:
    """A finite number."""
    array = numbers(what, value, error)
    if array.size != 1:
        raise error(f"{what} is {shown(value)}; expected one number")
    return float(array.reshape(()))


def text(what: str, value: Any, error: Kind = ProblemError) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise error(f"{what} is {shown(value)}; expected a text")
    try:
        value.encode()
    except UnicodeEncodeError as reason:
        raise error(f"{what} is {shown(value)}; expected a text that UTF-8 can hold ({reason.reason})") from None
    return value


def place(what: str, value: Any) -> Path:
    """A file or a folder."""
    try:
        path = Path(value)
    except TypeError:
        raise ProblemError(f"{what} is {shown(value)}; expected a path") from None
    if not str(value) or "\0" in str(value):
        raise ProblemError(f"{what} is {shown(value)}; expected a path, which is not empty and has no null character")
    return path
