"""Values as problem files write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._appropo import ProblemError
from .arguments import shown, text


def write(value: Any) -> str:
    """A value as TOML.

    >>> write({"center": [0, 0.5], "radius": 1e-3})
    '{ center = [0, 0.5], radius = 0.001 }'
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_escape(c) for c in (text("a text", value) if value else "")) + '"'
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key(name)} = {write(v)}" for name, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (Sequence, np.ndarray)):
        return "[" + ", ".join(write(v) for v in value) + "]"
    raise ProblemError(f"{shown(value)} is no number, text, list or table; it can't stand in a problem")


def key(name: str) -> str:
    """A key, in quotation marks where it needs them."""
    plain = text("a key of a table", name).isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if plain else write(name)


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
