"""Sets on their own: projections, arrays, errors."""

import appropo as ap
import numpy as np
import pytest

SETS = [
    ap.AtMost([1, 2, 3]),
    ap.AtLeast([-1, 0, 1]),
    ap.Box([-1, -1, -1], [1, 2, 3]),
    ap.Ball([0.1, 0.2, 0.3], 0.7),
    ap.L1Ball([0.1, 0.2, 0.3], 0.7),
    ap.LinfBall([0.1, 0.2, 0.3], 0.7),
    ap.Ellipsoid([0, 0, 0], [[2, 0.3, 0], [0.3, 1, 0], [0, 0, 4]]),
    ap.HalfSpace([1, -2, 0.5], 0.3),
    ap.Slab([1, -2, 0.5], -0.2, 0.3),
    ap.Affine([[1, 1, 1]], [1]),
    ap.Polytope([[1, 1, 0], [0, -1, 1]], [1, 0.5]),
    ap.Simplex(3),
    ap.Entropy(3, at_least=0.8),
    ap.KLBall([0.2, 0.3, 0.5], 0.1),
    ap.ReverseKLBall([0.2, 0.3, 0.5], 0.1),
    ap.SecondOrderCone(3, slope=0.5),
    ap.Simplex(3) & ap.Ball([1 / 3] * 3, 0.2),
    ap.Product(ap.Ball([0, 0], 1), ap.AtMost([5])),
    ap.Ball([0.5, 0.5], 0.1).share(),
    ap.Ball([0, 0, 0], 1) + [1, 2, 3],
    2.5 * ap.Simplex(3),
    ap.Custom(lambda x: np.clip(x, 0, 1), dim=3),
]


@pytest.mark.parametrize("target", SETS, ids=repr)
def test_a_projection_is_the_nearest_point(target):
    rng = np.random.default_rng(1)
    x = 3 * rng.standard_normal((200, target.dim))
    nearest = target.project(x)
    assert nearest.shape == x.shape
    assert np.max(target.distance(nearest)) < 1e-6
    # (x - p)·(y - p) <= 0 for all y of the set.
    for y in nearest[:20]:
        assert np.max(np.sum((x - nearest) * (y - nearest), axis=1)) < 1e-5
    assert np.allclose(target.distance(x), np.linalg.norm(x - nearest, axis=1))
    assert np.array_equal(target.project(x[0]), nearest[0])


def test_any_shape_and_type_of_numbers_goes_in():
    ball = ap.Ball([0, 0], 1)
    assert ball.distance([3, 4]) == pytest.approx(4)
    assert ball.distance(np.array([[3, 4]], dtype=np.float32)).shape == (1,)
    assert ball.project(np.ones((2, 3, 2))).shape == (2, 3, 2)
    assert ball.contains([[0, 0], [2, 2]]).tolist() == [True, False]
    columns = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    assert np.array_equal(ball.project(columns), ball.project(columns.copy()))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ap.Ball([0, 0], -1), "radius: found -1"),
        (lambda: ap.Ball([0, float("nan")], 1), "nan"),
        (lambda: ap.Box([1], [0]), "below lower"),
        (lambda: ap.Simplex(0), "1 or more"),
        (lambda: ap.Ellipsoid([0, 0], [[1, 0], [0, -1]]), "matrix"),
        (lambda: ap.Product(), "at least one set"),
        (lambda: ap.Ball([0, 0], 1) & ap.Ball([9, 9], 1), "empty"),
        (lambda: ap.Ball([[0, 0]], 1), "expected a vector"),
        (lambda: ap.Ball([0, 0], 1).project([1, 2, 3]), "expected 2 entries"),
        (lambda: ap.Ball([0, 0], 1).project([1, float("inf")]), "finite"),
        (lambda: ap.Custom(lambda x: x * np.nan, 2).project([1, 2]), "the projection gave NaN"),
        (lambda: ap.Custom(lambda x: x[:1], 2).project([1, 2]), "returned 1 entries; expected 2"),
    ],
)
def test_mistakes_are_told(make, said):
    with pytest.raises(ap.SetError, match=said):
        make()


def test_what_a_projection_raises_comes_out_unchanged():
    class Mine(Exception):
        pass

    def broken(x):
        raise Mine("here")

    with pytest.raises(Mine, match="here"):
        ap.Custom(broken, 2).project([1, 2])
    # It is usable again afterwards.
    assert ap.Custom(lambda x: x, 2).distance([1, 2]) == 0


def test_a_set_from_cvxpy():
    cvxpy = pytest.importorskip("cvxpy")
    x = cvxpy.Variable(3)
    target = ap.Custom.from_cvxpy(x, [cvxpy.norm(x - [0.1, 0.2, 0.3]) <= 0.7])
    points = np.random.default_rng(2).standard_normal((20, 3))
    assert np.allclose(target.project(points), ap.Ball([0.1, 0.2, 0.3], 0.7).project(points), atol=1e-6)
