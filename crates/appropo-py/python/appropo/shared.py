"""Copies and pickles of what refers to functions and environments of the caller's."""

from __future__ import annotations

from typing import Any


class Shared:
    """Never changes, so its copies are itself; can't be pickled, since the caller's functions can't."""

    #: What to use instead of pickle.
    _instead = "make it again where it is needed"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        # TypeError is what pickle's users expect.
        raise TypeError(f"{type(self).__name__} can't be pickled; {self._instead}")
