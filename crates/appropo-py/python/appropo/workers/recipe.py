"""What workers make a world of."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .._appropo import Env, ProblemError
from .._appropo import Problem as _Problem
from ..arguments import shown
from ..environments import Measured, Played, maker

#: What to do about an environment that stays where it is.
INSTEAD = (
    "pass the id of an environment, or a function in a module that workers can import and that makes one; measures are "
    "best numbers, keys of info, or functions of such a module"
)


@dataclass(frozen=True)
class Recipe:
    """An environment and all that was found out about it, so that workers need not."""

    name: str
    env: Any
    measure: Mapping[str, Measured]
    #: Entries of each measure; whether observations are counted.
    sizes: list[int]
    counts: bool
    observations: Any
    actions: Any
    discount: float
    horizon: int | None

    def packed(self) -> bytes:
        """The recipe as bytes. Classes and functions of the main program are part of them."""
        spec = None
        if isinstance(self.env, str):
            import gymnasium

            # An id that the main program registered is none that workers know.
            spec = gymnasium.registry.get(self.env)
        try:
            return pickle.dumps((sys.path, _dumps()((spec, self))))
        except Exception as error:
            # Pickling raises whatever the object's own methods do.
            raise ProblemError(
                f"{shown(self.env)} can't be sent to workers ({type(error).__name__}: {error}); {INSTEAD}"
            ) from error

    @staticmethod
    def unpacked(packed: bytes) -> Recipe:
        """The recipe of these bytes, which are this program's own."""
        try:
            # Modules are found where the main program finds them.
            path, packed = pickle.loads(packed)
            sys.path.extend(place for place in path if place not in sys.path)
            spec, recipe = pickle.loads(packed)
        except Exception as error:
            raise ProblemError(
                f"the environment can't be made in a worker ({type(error).__name__}: {error}); {INSTEAD}"
            ) from error
        if spec is not None:
            import gymnasium

            gymnasium.registry.setdefault(recipe.env, spec)
        return recipe  # type: ignore[no-any-return]

    def core(self) -> tuple[_Problem, Any]:
        """The world as the library plays it, and what has to be kept as long as it is."""
        make = self._make()

        def played(_: int | None) -> Played:
            return Played(make(), self.measure, self.sizes, self.counts)

        measures = list(zip(self.measure, self.sizes, strict=True))
        env = Env.external(played, self.observations, self.actions, measures, 1, self.name)
        return _Problem(self.name, env, [], self.discount, self.horizon), played

    def _make(self) -> Callable[[], Any]:
        if hasattr(self.env, "step") and not isinstance(self.env, type):
            # Copies of one that was given.
            packed = _dumps()(self.env)
            return lambda: pickle.loads(packed)
        make, _, _ = maker(self.env)
        return lambda: make(None)


def _dumps() -> Callable[[Any], bytes]:
    """Pickles, with what the main program defines where cloudpickle is there."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps
    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps
