"""Closed convex sets, each known by its projection.

>>> import numpy as np
>>> ball = Ball(center=[0, 0], radius=1)
>>> ball.project([3, 4])
array([0.6, 0.8])
>>> ball.distance(np.array([[3.0, 4.0], [0.1, 0.2]]))
array([4., 0.])
>>> (Simplex(2) & AtLeast([0.2, 0.2])).contains([0.5, 0.5])
True
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._appropo import ConvexSet as _ConvexSet
from ._appropo import SetError
from .arguments import number, numbers, shown, text, whole
from .extras import needed
from .shared import Shared

Vector = Sequence[float] | NDArray[np.floating[Any]]
Matrix = Sequence[Sequence[float]] | NDArray[np.floating[Any]]


class ConvexSet(Shared):
    """A closed convex set in d dimensions."""

    # NumPy must leave sums and products with arrays to this class.
    __array_ufunc__ = None

    def __init__(self, core: _ConvexSet, *made_of: ConvexSet) -> None:
        self._core = core
        # Sets of one's own live as long as those that are made of them.
        self._made_of = made_of

    @property
    def dim(self) -> int:
        """Entries of its points."""
        return self._core.dim

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """The nearest point of the set: of one vector, or of every row of an array."""
        return np.asarray(self._core.project(_rows(x)))

    def distance(self, x: ArrayLike) -> Any:
        """The Euclidean distance of a vector from the set, or of every row of an array."""
        return self._core.distance(_rows(x))

    def contains(self, x: ArrayLike, tolerance: float = 1e-9) -> Any:
        """Whether a vector lies in the set up to a tolerance, or every row of an array."""
        return self._core.contains(_rows(x), _number("tolerance", tolerance))

    def share(self) -> ConvexSet:
        """The cone of all (x, t) with x/t in the set: what totals must satisfy for their share a step to lie in it.

        >>> Ball([0.5, 0.5], 0.1).share().contains([5, 5, 10])
        True
        """
        return ConvexSet(self._core.share(), self)

    def __and__(self, other: ConvexSet) -> ConvexSet:
        return Intersection(self, other)

    def __mul__(self, other: ConvexSet | float) -> ConvexSet:
        return Product(self, other) if isinstance(other, ConvexSet) else self.__rmul__(other)

    def __add__(self, by: Vector) -> ConvexSet:
        """The set moved by a vector."""
        return ConvexSet(self._core.shifted(_vector("shift", by)), self)

    __radd__ = __add__

    def __rmul__(self, factor: float) -> ConvexSet:
        """The set with all points multiplied by a number other than 0."""
        return ConvexSet(self._core.scaled(_number("factor", factor)), self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self.dim} dimensions: {self._core.requirement}>"


def _rows(x: ArrayLike) -> NDArray[np.float64]:
    return np.ascontiguousarray(numbers("x", x, SetError))


def _vector(what: str, values: Vector) -> list[float]:
    array = numbers(what, values, SetError)
    if array.ndim != 1:
        raise SetError(f"{what} has shape {array.shape}; expected a vector")
    return [float(value) for value in array]


def _matrix(what: str, values: Matrix) -> list[list[float]]:
    array = numbers(what, values, SetError)
    if array.ndim != 2:
        raise SetError(f"{what} has shape {array.shape}; expected a matrix")
    return [[float(value) for value in row] for row in array]


def _number(what: str, value: float) -> float:
    return number(what, value, SetError)


def _cores(kind: str, sets: Sequence[ConvexSet]) -> list[_ConvexSet]:
    if not sets:
        raise SetError(f"{kind} needs at least one set")
    for part in sets:
        if not isinstance(part, ConvexSet):
            raise SetError(f"{shown(part)} is no set; pass the sets one by one, as in {kind}(a, b)")
    return [part._core for part in sets]


class _Stated(ConvexSet):
    """A set that a problem file can state."""

    def __init__(self, dim: int, key: str, value: Any) -> None:
        super().__init__(_ConvexSet(key, value, whole("dim", dim, error=SetError)))


class AtMost(_Stated):
    """All x with xᵢ ≤ boundᵢ."""

    def __init__(self, bound: Vector) -> None:
        values = _vector("bound", bound)
        super().__init__(len(values), "at_most", values)


class AtLeast(_Stated):
    """All x with xᵢ ≥ boundᵢ."""

    def __init__(self, bound: Vector) -> None:
        values = _vector("bound", bound)
        super().__init__(len(values), "at_least", values)


class Box(_Stated):
    """All x with lowerᵢ ≤ xᵢ ≤ upperᵢ."""

    def __init__(self, lower: Vector, upper: Vector) -> None:
        values = _vector("lower", lower)
        super().__init__(len(values), "box", {"lower": values, "upper": _vector("upper", upper)})


class _Round(_Stated):
    _key = ""

    def __init__(self, center: Vector, radius: float) -> None:
        values = _vector("center", center)
        super().__init__(len(values), self._key, {"center": values, "radius": _number("radius", radius)})


class Ball(_Round):
    """All x with ‖x − center‖ ≤ radius."""

    _key = "ball"


class L1Ball(_Round):
    """All x with Σ|xᵢ − centerᵢ| ≤ radius."""

    _key = "l1_ball"


class LinfBall(_Round):
    """All x with max|xᵢ − centerᵢ| ≤ radius."""

    _key = "linf_ball"


class Ellipsoid(_Stated):
    """All x with (x − center)ᵀ M (x − center) ≤ 1, M symmetric and positive definite."""

    def __init__(self, center: Vector, matrix: Matrix) -> None:
        values = _vector("center", center)
        super().__init__(len(values), "ellipsoid", {"center": values, "matrix": _matrix("matrix", matrix)})


class HalfSpace(_Stated):
    """All x with normal·x ≤ offset."""

    def __init__(self, normal: Vector, offset: float) -> None:
        values = _vector("normal", normal)
        super().__init__(len(values), "halfspace", {"normal": values, "offset": _number("offset", offset)})


class Slab(_Stated):
    """All x with lower ≤ normal·x ≤ upper."""

    def __init__(self, normal: Vector, lower: float, upper: float) -> None:
        values = _vector("normal", normal)
        limits = {"lower": _number("lower", lower), "upper": _number("upper", upper)}
        super().__init__(len(values), "slab", {"normal": values, **limits})


class _ByRows(_Stated):
    _key = ""

    def __init__(self, rows: Matrix, offsets: Vector) -> None:
        values = _matrix("rows", rows)
        dim = len(values[0]) if values else 0
        super().__init__(dim, self._key, {"rows": values, "offsets": _vector("offsets", offsets)})


class Polytope(_ByRows):
    """All x with rows·x ≤ offsets."""

    _key = "polytope"


class Affine(_ByRows):
    """All x with rows·x = offsets."""

    _key = "affine"


class Simplex(_Stated):
    """All x ≥ 0 with sum total."""

    def __init__(self, dim: int, total: float = 1.0) -> None:
        super().__init__(dim, "simplex", {"total": _number("total", total)})


class Entropy(_Stated):
    """All distributions over dim outcomes whose entropy in nats is at_least or more."""

    def __init__(self, dim: int, at_least: float) -> None:
        super().__init__(dim, "entropy", {"at_least": _number("at_least", at_least)})


class KLBall(_Stated):
    """All distributions p with KL(p ‖ reference) ≤ radius."""

    def __init__(self, reference: Vector, radius: float) -> None:
        values = _vector("reference", reference)
        super().__init__(len(values), "kl", {"reference": values, "radius": _number("radius", radius)})


class ReverseKLBall(_Stated):
    """All distributions p with KL(reference ‖ p) ≤ radius."""

    def __init__(self, reference: Vector, radius: float) -> None:
        values = _vector("reference", reference)
        super().__init__(len(values), "reverse_kl", {"reference": values, "radius": _number("radius", radius)})


class SecondOrderCone(_Stated):
    """All x with ‖(x₁, …, x_{d−1})‖ ≤ slope·x_d."""

    def __init__(self, dim: int, slope: float = 1.0) -> None:
        super().__init__(dim, "second_order_cone", {"slope": _number("slope", slope)})


class Semidefinite(_Stated):
    """All order × order matrices, row by row, that are symmetric and positive semidefinite."""

    def __init__(self, order: int) -> None:
        super().__init__(whole("order", order, error=SetError) ** 2, "semidefinite", True)


class Intersection(ConvexSet):
    """What lies in every one of the sets."""

    def __init__(self, *sets: ConvexSet) -> None:
        cores = _cores("Intersection", sets)
        if len({core.dim for core in cores}) > 1:
            dims = ", ".join(str(core.dim) for core in cores)
            raise SetError(f"the sets of the intersection have {dims} dimensions; expected the same in all")
        super().__init__(_ConvexSet.intersection(cores), *sets)


class Product(ConvexSet):
    """The sets side by side: a vector is cut into blocks, one for each.

    >>> Product(Ball([0, 0], 1), AtMost([5])).project([3, 4, 9])
    array([0.6, 0.8, 5. ])
    """

    def __init__(self, *sets: ConvexSet) -> None:
        super().__init__(_ConvexSet.product(_cores("Product", sets)), *sets)


class Custom(ConvexSet):
    """A set of your own: ``project(x)`` returns its point nearest to x.

    >>> even = Custom(lambda x: np.full(2, x.mean()), dim=2, name="the diagonal")
    >>> even.distance([1, -1]) ** 2
    2.0000000000000004
    """

    def __init__(
        self, project: Callable[[NDArray[np.float64]], ArrayLike], dim: int, name: str = "a set of mine"
    ) -> None:
        if not callable(project):
            raise SetError(f"project is {shown(project)}; expected a function of a vector")
        # The core holds no function of Python's, so that all of them can be collected.
        this = weakref.ref(self)
        self._project = project
        self.name = text("name", name, SetError)
        dim = whole("dim", dim, error=SetError)
        super().__init__(_ConvexSet.from_projection(dim, lambda x: _called(this(), x), f"in {name}"))

    @classmethod
    def from_cvxpy(cls, variable: Any, constraints: Sequence[Any], name: str = "a CVXPY set") -> Custom:
        """The values of a CVXPY variable that satisfy constraints. Needs the extra ``appropo[cvxpy]``."""
        with needed("cvxpy"):
            import cvxpy

        if not isinstance(variable, cvxpy.Variable):
            raise SetError(f"variable is {shown(variable)}; expected a CVXPY variable")
        if not isinstance(constraints, Sequence):
            raise SetError("constraints are a list, as in from_cvxpy(x, [x <= 1])")
        # ‖y − x‖² but for what does not depend on y, and divided so that far points have no huge numbers.
        curvature, direction = cvxpy.Parameter(nonneg=True), cvxpy.Parameter(variable.size)
        flat = cvxpy.vec(variable, order="C")
        objective = cvxpy.Minimize(curvature * cvxpy.sum_squares(flat) - direction @ flat)
        nearest = cvxpy.Problem(objective, list(constraints))
        if not nearest.is_dcp():
            raise SetError(f"CVXPY can't tell that {shown(constraints)} is convex; state it by its rules (DCP)")
        turn = threading.Lock()

        def project(x: NDArray[np.float64]) -> NDArray[np.float64]:
            with turn:
                size = max(1.0, float(np.abs(x).max()))
                curvature.value, direction.value = 1 / size, 2 * x / size
                nearest.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
                if flat.value is None:
                    raise SetError(f"{name}: CVXPY found no nearest point ({nearest.status}); is the set empty?")
                return np.asarray(flat.value, dtype=np.float64)

        return cls(project, int(variable.size), name)


def _called(target: Custom | None, x: NDArray[np.float64]) -> ArrayLike:
    if target is None:
        raise SetError("the set of the function is gone; keep the object that was made of it")
    return target._project(x)
