"""What is optimised: measures, functions of them, and weighted sums of those.

>>> from appropo import measure
>>> entropy("visits")
<entropy of visits>
>>> measure("reward") + 0.1 * entropy("visits")
<reward + 0.1 entropy of visits>
>>> squared_distance(measure("visits").share(), [0.5, 0.5])
<squared distance of visits per step from a point>
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ._appropo import ProblemError
from .arguments import number, numbers, shown, text
from .linear import Compared, Linear, Summand
from .measures import Measure


class Utility(Compared):
    """A weighted sum of functions of measures, to be passed to :func:`maximize` or :func:`minimize`."""

    def __init__(self, terms: list[dict[str, Any]]) -> None:
        self._terms = terms

    @staticmethod
    def of(summand: Any) -> Utility:
        """A measure, a sum of them or a function as a utility."""
        if isinstance(summand, Utility):
            return summand
        if not isinstance(summand, Summand):
            raise ProblemError(f"{shown(summand)} can't be added to an objective; add measures and functions of them")
        terms: list[dict[str, Any]] = []
        for term, weight in Linear.of(summand).terms():
            if term.entry == "all":
                raise ProblemError(f"{term} is a sum of entries; let measure= add it up in every step")
            terms.append({"measure": str(term), "weight": weight, "share": term.is_share})
        return Utility(terms)

    def __add__(self, other: Any) -> Utility:
        return Utility(self._terms + Utility.of(other)._terms)

    def __radd__(self, other: Any) -> Utility:
        return Utility(Utility.of(other)._terms + self._terms)

    def __sub__(self, other: Any) -> Utility:
        return self + -1.0 * Utility.of(other)

    def __rsub__(self, other: Any) -> Utility:
        return Utility.of(other) + -1.0 * self

    def __mul__(self, factor: float) -> Utility:
        by = number("the factor", factor)
        return Utility([{**term, "weight": by * term.get("weight", 1.0)} for term in self._terms])

    __rmul__ = __mul__

    def __neg__(self) -> Utility:
        return self * -1.0

    def _option(self) -> Any:
        """As problem files have it."""
        if not self._terms:
            raise ProblemError("the objective adds up nothing; name a measure")
        return self._terms

    def __repr__(self) -> str:
        shown_terms = ""
        for term in self._terms:
            weight = term.get("weight", 1.0)
            sign = "-" if weight < 0 else "+"
            factor = "" if abs(weight) == 1 else f"{abs(weight):g} "
            shown_terms += (
                f" {sign} {factor}{_named(term)}" if shown_terms else f"{sign.strip('+')}{factor}{_named(term)}"
            )
        return f"<{shown_terms}>"


def _named(term: dict[str, Any]) -> str:
    per_step = " per step" if term["share"] else ""
    for key in ("entropy", "squared_distance", "smooth_minimum"):
        if key in term:
            end = " from a point" if key == "squared_distance" else ""
            return f"{key.replace('_', ' ')} of {', '.join(term[key])}{per_step}{end}"
    return f"{term['measure']}{per_step}"


def _function(key: str, of: str | Measure, share: bool, **options: Any) -> Utility:
    names = list(of._names) if isinstance(of, Measure) else [text("the measure", of)]
    is_share = share or isinstance(of, Measure) and of._is_share
    return Utility([{key: names, "share": is_share, **options}])


def entropy(of: str | Measure, *, share: bool = False) -> Utility:
    """The entropy −Σ x ln x of a measure's entries, to be maximised.

    With ``share``, or of ``ap.measure("visits").share()``, the entries are divided by the number of steps: the entropy
    of the shares of time.
    """
    return _function("entropy", of, share)


def squared_distance(of: str | Measure, point: ArrayLike | str, *, share: bool = False) -> Utility:
    """The squared distance ‖x − point‖² of a measure's entries from a point, to be minimised.

    ``point`` is a vector, or the name of one such as ``"uniform"``.
    """
    place = point if isinstance(point, str) else numbers("the point", point).ravel().tolist()
    return _function("squared_distance", of, share, **{"from": place})


def smooth_minimum(of: str | Measure, *, sharpness: float = 100.0, share: bool = False) -> Utility:
    """About the least of a measure's n entries, at most ln(n)/sharpness below it, to be maximised."""
    return _function("smooth_minimum", of, share, sharpness=number("sharpness", sharpness))


def objective(measured: Any) -> Any:
    """What is optimised, as the solver reads it."""
    if isinstance(measured, Measure) and not measured._is_share:
        return measured._single()
    if isinstance(measured, (Utility, Summand)):
        return Utility.of(measured)._option()
    if isinstance(measured, Compared):
        raise ProblemError(f"the objective is {measured!r}; expected a measure, or a function such as ap.entropy")
    return text("measure", measured)
