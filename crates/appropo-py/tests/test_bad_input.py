"""Whatever is passed by mistake is told in the package's own words: where, what was found, what was expected."""

import copy
import gc
import pickle
import subprocess
import sys
from fractions import Fraction

import appropo as ap
import cvxpy
import gymnasium
import numpy as np
import pytest
from appropo.gym import World
from gymnasium import spaces
from test_environments import Walk, walk

BALL = ap.Ball([0, 0], 1)
cost = ap.measure("cost")
length = ap.norm(ap.measure("z") - [0, 0])

SETS = [
    (lambda: ap.Simplex(-1), "dim is -1; expected a whole number, 1 or more"),
    (lambda: ap.Simplex(2.5), "dim is 2.5; expected a whole number"),
    (lambda: ap.Simplex(2**64), "below 2\\*\\*64"),
    (lambda: ap.Simplex(2, "a"), "total is 'a'; expected numbers"),
    (lambda: ap.Entropy("3", 0.5), "dim is '3'"),
    (lambda: ap.Entropy(3, None), "at_least is None"),
    (lambda: ap.SecondOrderCone(None), "dim is None"),
    (lambda: ap.SecondOrderCone(3, 1j), "slope is 1j; expected numbers"),
    (lambda: ap.Semidefinite("a"), "order is 'a'; expected a whole number"),
    (lambda: ap.Semidefinite(10**10), "dim is 1.*; expected a whole number"),
    (lambda: ap.Custom(abs, dim=-1), "dim is -1"),
    (lambda: ap.Custom(abs, dim=2.5), "dim is 2.5"),
    (lambda: ap.Custom(3, dim=2), "project is 3; expected a function"),
    (lambda: ap.Custom(abs, dim=2, name=3), "name is 3; expected a text"),
    (lambda: ap.Custom.from_cvxpy(x := cvxpy.Variable(2), [cvxpy.norm(x) >= 1]), "can't tell that .* is convex"),
    (lambda: ap.Custom.from_cvxpy(3, []), "variable is 3; expected a CVXPY variable"),
    (lambda: ap.AtMost("abc"), "bound is 'abc'; expected numbers"),
    (lambda: ap.AtMost(["1", "2"]), "bound is .*; expected numbers"),
    (lambda: ap.AtMost(3), "bound has shape \\(\\); expected a vector"),
    (lambda: ap.AtLeast(None), "bound is None"),
    (lambda: ap.AtLeast([1, [2]]), "bound is"),
    (lambda: ap.AtLeast([10**400]), "bound is"),
    (lambda: ap.Box([0], None), "upper is None"),
    (lambda: ap.Box([0, 0], [1]), "upper"),
    (lambda: ap.Ball("a", 1), "center is 'a'"),
    (lambda: ap.Ball([0, 0], "a"), "radius is 'a'; expected numbers"),
    (lambda: ap.Ball([0, 0], [1, 2]), "radius is \\[1, 2\\]; expected one number"),
    (lambda: ap.Ball([0, 0], float("inf")), "radius is inf; expected finite"),
    (lambda: ap.Ball([], 1), "dim is 0"),
    (lambda: ap.Ellipsoid([0, 0], [1, 2]), "matrix has shape \\(2,\\); expected a matrix"),
    (lambda: ap.Ellipsoid([0, 0], [[1, 0], [0]]), "matrix is"),
    (lambda: ap.HalfSpace([1, 0], None), "offset is None"),
    (lambda: ap.Slab([1, 0], 0, {}), "upper is {}"),
    (lambda: ap.Polytope([[1, 0]], "a"), "offsets is 'a'"),
    (lambda: ap.Affine(None, [1]), "rows is None"),
    (lambda: ap.KLBall([0.5, 0.5], None), "radius is None"),
    (lambda: ap.ReverseKLBall(None, 1), "reference is None"),
    (lambda: ap.Product([BALL, BALL]), "pass the sets one by one"),
    (lambda: ap.Product(BALL, 3), "3 is no set"),
    (lambda: ap.Product(), "at least one set"),
    (lambda: ap.Intersection([BALL]), "pass the sets one by one"),
    (lambda: ap.Intersection(), "at least one set"),
    (lambda: BALL & 3, "3 is no set"),
    (lambda: BALL & ap.Simplex(3), "have 2, 3 dimensions; expected the same"),
    (lambda: BALL + "ab", "shift is 'ab'"),
    (lambda: BALL + [1, 2, 3], "expected 2"),
    (lambda: "a" * BALL, "factor is 'a'"),
    (lambda: 0 * BALL, "expected a number other than 0"),
    (lambda: np.array([1, 2]) * BALL, "factor is array.*; expected one number"),
    (lambda: BALL.project("abc"), "x is 'abc'; expected numbers"),
    (lambda: BALL.project(None), "x is None"),
    (lambda: BALL.project([1j, 2]), "x is \\[1j, 2\\]; expected numbers"),
    (lambda: BALL.project(3), "x has shape .*; expected 2 entries"),
    (lambda: BALL.project([1e308, 1e308]), "entry 0 of x is .*; expected a number of at most 1e100"),
    (lambda: BALL.distance({}), "x is {}"),
    (lambda: BALL.contains([0, 0], tolerance="a"), "tolerance is 'a'"),
    (lambda: BALL.contains([0, 0], tolerance=float("nan")), "tolerance is nan"),
    (lambda: ap.Custom(lambda x: "a", 2).project([0, 0]), "the projection returned 'a'; expected 2 numbers"),
    (lambda: ap.Custom(lambda x: None, 2).project([0, 0]), "the projection returned 1 entries; expected 2"),
]


@pytest.mark.parametrize(("call", "said"), SETS)
def test_sets(call, said):
    with pytest.raises(ap.SetError, match=said):
        call()


CONSTRAINTS = [
    (lambda: ap.measure(), "needs the name"),
    (lambda: ap.measure(3), "the name of a measure is 3; expected a text"),
    (lambda: ap.measure(["a", "b"]), "expected a text"),
    (lambda: ap.measure(""), "expected a text"),
    (lambda: ap.measure("\ud800"), "UTF-8"),
    (lambda: cost <= "a", "the bound is 'a'; expected numbers"),
    (lambda: cost <= "1", "the bound is '1'"),
    (lambda: cost <= float("nan"), "the bound is nan; expected finite"),
    (lambda: cost >= None, "the bound is None"),
    (lambda: cost == 1j, "the bound is 1j"),
    (lambda: cost < 1, "write <="),
    (lambda: cost > 1, "write >="),
    (lambda: cost != 1, "not convex"),
    (lambda: 1 <= cost <= 2, "between"),
    (lambda: cost.between("a", 1), "lower is 'a'"),
    (lambda: cost.between(2, 1), "lower is 2.*above"),
    (lambda: cost.between([0, 2], [1, 1]), "lower is .*above"),
    (lambda: cost.between([0, 2], [1, 1, 1]), "as many"),
    (lambda: cost.within(3), "3 is no set"),
    (lambda: (cost <= 1).named(3), "name is 3; expected a text"),
    (lambda: (cost <= 1).scaled("a"), "unit is 'a'"),
    (lambda: (cost <= 1).scaled(0), "unit is 0; expected a number above 0"),
    (lambda: cost + "a", "the summand is 'a'"),
    (lambda: cost + [1, 2], "the summand is \\[1, 2\\]; expected one number"),
    (lambda: cost - "a", "what is subtracted is 'a'"),
    (lambda: cost - ["a"], "what is subtracted is \\['a'\\]"),
    (lambda: cost - [1, [2]], "what is subtracted is"),
    (lambda: "a" - cost, "the summand is 'a'"),
    (lambda: "a" * cost, "the factor is 'a'"),
    (lambda: cost * cost, "the factor is measure\\('cost'\\)"),
    (lambda: cost / 0, "the divisor is 0"),
    (lambda: cost / "a", "the divisor is 'a'"),
    (lambda: 2 * cost <= "a", "the summand is 'a'"),
    (lambda: 2 * cost >= None, "the summand is None"),
    (lambda: 2 * cost == "a", "the summand is 'a'"),
    (lambda: 2 * cost < 1, "write <="),
    (lambda: 2 * cost > 1, "write >="),
    (lambda: 2 * cost != 1, "not convex"),
    (lambda: cost - cost <= 1, "no measure is left"),
    (lambda: length == 2, "not convex"),
    (lambda: length != 2, "not convex"),
    (lambda: length >= 1, "not convex"),
    (lambda: length < 1, "write <="),
    (lambda: -1 * length, "stand alone"),
    (lambda: length * 2, "stand alone"),
    (lambda: -length, "stand alone"),
    (lambda: length + 1, "stand alone"),
    (lambda: length - 1, "stand alone"),
    (lambda: length / 2, "stand alone"),
    (lambda: length <= "a", "the bound is 'a'"),
    (lambda: length <= -1, "the bound is -1; expected a number, 0 or more"),
    (lambda: ap.measure("z") - [0, 0] <= 1, "take its norm"),
    (lambda: ap.measure("z") - [0, 0] == 1, "take its norm"),
    (lambda: ap.norm(cost), "minus a point"),
    (lambda: abs(cost) >= 1, "not convex"),
    (lambda: abs(cost) <= -1, "the bound is -1; expected a number, 0 or more"),
    (lambda: abs(cost) + 1, "stand alone"),
    (lambda: (cost <= 1) & (cost >= 0), "put in a list"),
    (lambda: (2 * cost).between(2, 1), "lower is 2.*above"),
    (lambda: cost + cost.share() <= 1, "a total and a share"),
    (lambda: cost[-1], "the number of the entry is -1; expected a whole number, 0 or more"),
    (lambda: cost[1:2], "the number of the entry is slice"),
    (lambda: ap.measure("a", "b")[0], "several measures; write them one by one"),
    (lambda: ap.measure("a", "b") + 1, "several measures"),
    (lambda: "ab" @ cost, "the matrix is 'ab'; expected numbers"),
    (lambda: [[1, 2], [3, 4]] @ cost <= [1, 2, 3], "expected one number, or 2 as the matrix has rows"),
    (lambda: ap.norm(ap.measure("z") - [0, 0], p=3), "p is 3; expected 1, 2 or infinity"),
    (lambda: ap.norm(ap.measure("z") - [0, 0], p=[2]), "p is \\[2\\]"),
]


@pytest.mark.parametrize(("call", "said"), CONSTRAINTS)
def test_constraints(call, said):
    with pytest.raises(ap.ProblemError, match=said):
        call()


def test_a_set_turned_around():
    assert (-1 * ap.AtMost([1, 2])).project([-5, 3]).tolist() == [-1, 3]
    assert ([1, 0] + BALL).contains([2, 0]) and (np.array([1, 0]) + BALL).contains([2, 0])


def test_bounds_on_both_sides_may_be_vectors():
    box = ap.measure("a").between([0, 1], [2, 3])
    assert box.built({"a": 2})[0].stated == "box = { lower = [0, 1], upper = [2, 3] }"
    assert "upper = [5, 5]" in ap.measure("a").between([0, 1], 5).built({"a": 2})[0].stated
    assert ap.measure("a").between(0, Fraction(1, 2)).built({"a": 1})[0].stated == "between = [0, 0.5]"


def problem(**changes):
    given = {"env": "mars-rover", "constraints": ap.measure("failure") <= 0.2, "discount": 0.99, **changes}
    return ap.Problem(**given)


def cost_of(entries, target):
    return ap.measure(*["failure", "reward"][:entries]).within(target)


class Given(Walk):
    """A walk whose steps return what they are told to."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def step(self, action):
        return self.answer(super().step(action))


class NoSpaces:
    def reset(self, *, seed=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, True, False, {}


class Acts(Walk):
    """A walk with other actions."""

    def __init__(self, space):
        super().__init__()
        self.action_space = space


PROBLEMS = [
    (lambda: walk(x=None), "ProblemError", 'measure "x" is None; expected a number, the key of an entry of info'),
    (lambda: walk(x=[1, 2]), "ProblemError", 'measure "x" is \\[1, 2\\]'),
    (lambda: walk(x=float("nan")), "ProblemError", 'measure "x" is nan'),
    (lambda: ap.Problem(Walk, cost <= 1, "cost", discount=1.0), "ProblemError", "measure is 'cost'; expected a"),
    (lambda: ap.Problem(Walk, cost <= 1, ["cost"], discount=1.0), "ProblemError", "measure is \\['cost'\\]"),
    (lambda: ap.Problem(Walk, cost <= 1, {3: 1.0}, discount=1.0), "ProblemError", "name of a measure is 3"),
    (lambda: ap.Problem(Walk, cost <= 1, {"\ud800": 1.0}, discount=1.0), "ProblemError", "UTF-8"),
    (lambda: walk(x=lambda t: "a"), "WorldError", "measure \"x\" is 'a'; expected numbers"),
    (lambda: walk(x=lambda t: None), "WorldError", 'measure "x" is None; expected numbers'),
    (lambda: walk(x=lambda t: [1, [2]]), "WorldError", 'measure "x" is'),
    (lambda: ap.info("cost", default="a"), "ProblemError", "default is 'a'"),
    (lambda: walk(lambda: Given(lambda a: None)), "WorldError", "step\\(\\) returned NoneType"),
    (lambda: walk(lambda: Given(lambda a: 3)), "WorldError", "step\\(\\) returned int"),
    (lambda: walk(lambda: Given(lambda a: (*a[:4], None))), "WorldError", "info is None; expected a dictionary"),
    (lambda: walk(lambda: None), "ProblemError", "None has no observation_space"),
    (lambda: walk(NoSpaces), "ProblemError", "has no observation_space"),
    (lambda: walk(NoSpaces()), "ProblemError", "has no observation_space"),
    (lambda: walk(lambda: Acts(spaces.MultiDiscrete([2, 3]))), "ProblemError", "expected Discrete or Box"),
    (lambda: walk(lambda: Acts(spaces.MultiBinary(2))), "ProblemError", "expected Discrete or Box"),
    (lambda: problem(constraints=3), "ProblemError", "constraints is 3; expected"),
    (lambda: problem(constraints="failure"), "ProblemError", "no constraint"),
    (lambda: problem(constraints=[cvxpy.Variable(2) <= 1]), "ProblemError", "ap.Custom.from_cvxpy"),
    (
        lambda: problem(constraints=cost_of(2, ap.Simplex(3))),
        "ProblemError",
        "3 dimensions, but its measures 2 entries",
    ),
    (lambda: problem(constraints=cost_of(1, ap.Semidefinite(2))), "ProblemError", "4 dimensions"),
    (lambda: problem(env="CartPoll-v1"), "ProblemError", "env is .CartPoll-v1.*CartPole"),
    (lambda: problem(discount="a"), "ProblemError", "discount is 'a'"),
    (lambda: problem(discount=None), "ProblemError", "discount is None"),
    (lambda: problem(horizon=2.5), "ProblemError", "horizon is 2.5; expected a whole number"),
    (lambda: problem(horizon=0), "ProblemError", "horizon is 0"),
    (lambda: problem(name=3), "ProblemError", "name is 3; expected a text"),
    (lambda: problem(env=ap.BuiltIn("mars-rover", 3)), "ProblemError", "settings is 3"),
    (
        lambda: problem(env=ap.BuiltIn("mars-rover", {3: 1})),
        "ProblemError",
        "the name of an option is 3; expected a text",
    ),
    (lambda: problem(env=ap.BuiltIn(3)), "ProblemError", "name"),
    (lambda: problem(env=ap.BuiltIn("mars-rover", {"slip": "\ud800"})), "ProblemError", "UTF-8"),
    (lambda: problem(constraints=ap.measure("visits") <= [1, 2]), "ProblemError", "^(?!.*toml).*at_most"),
    (lambda: ap.Problem.load(3), "ProblemError", "name_or_path is 3; expected a path"),
    (lambda: ap.Problem.load("a\0b"), "ProblemError", "null"),
    (lambda: ap.solve(3), "ProblemError", "expected"),
    (lambda: ap.solve(problem(), run=3), "ProblemError", "run is 3; expected a path"),
    (lambda: ap.solve(problem(), run=""), "ProblemError", "run is ''; expected a path"),
    (lambda: ap.solve(problem(), callback=3), "ProblemError", "callback is 3; expected a function"),
    (lambda: ap.solve(problem(), checkpoint_every="a"), "ProblemError", "checkpoint_every is 'a'"),
    (lambda: ap.solve(problem(), samples=-1), "ProblemError", "^(?!.*toml).*samples"),
    (lambda: ap.solve(problem(), samples=2.5), "ProblemError", "samples is 2.5; expected a whole number"),
    (lambda: ap.solve(problem(), samples="many"), "ProblemError", "^(?!.*toml).*samples"),
    (lambda: ap.solve(problem(), seed=-1), "ProblemError", "seed"),
    (lambda: ap.solve(problem(), oracle=3), "ProblemError", "oracle is 3"),
    (lambda: ap.solve(walk(), oracle=Bare), "ProblemError", "oracle is <class .*; expected a name, or an object"),
    (lambda: World("mars-rover", render_mode="human"), "ProblemError", 'render_mode is "human"'),
    (lambda: ap.resume(3), "ProblemError", "folder is 3; expected a path"),
    (lambda: ap.maximize(problem(), 3), "ProblemError", "measure is 3; expected a text"),
    (lambda: ap.maximize(problem(), cost + 3), "ProblemError", "a constant of 3 changes no optimum"),
    (
        lambda: ap.maximize(problem(), ap.measure("visits").sum()),
        "ProblemError",
        "visits.sum\\(\\) is a sum of entries",
    ),
    (lambda: ap.maximize(problem(), abs(cost)), "ProblemError", "the objective is"),
    (lambda: ap.entropy("visits") + 3, "ProblemError", "3 can't be added to an objective"),
    (lambda: ap.minimize(problem(), ap.entropy("visits")), "ProblemError", "an entropy can only be made larger"),
    (lambda: ap.maximize(problem(), ap.entropy("visit")), "ProblemError", "visit"),
    (
        lambda: ap.minimize(problem(), ap.squared_distance("visits", [1.0])),
        "ProblemError",
        "found 1 numbers; expected 64",
    ),
    (lambda: ap.minimize(problem(), ap.measure("visits")[64]), "ProblemError", "from 0 to 63"),
    (lambda: ap.maximize(problem(), "rewards"), "ProblemError", '^(?!.*--).*did you mean "reward"'),
    (lambda: ap.minimize(problem(), "visits"), "ProblemError", "^(?!.*--).*visits\\[0\\] to visits\\[63\\]"),
    (lambda: World("point-mass", horizon=50).step("abc"), "WorldError", "the action is 'abc'"),
    (lambda: World("point-mass", horizon=50).step([1.0]), "WorldError", "the action has 1 numbers; expected 2"),
    (lambda: World("point-mass", horizon=50).step([np.nan, 0]), "WorldError", "the action is"),
]


@pytest.mark.parametrize(("call", "error", "said"), PROBLEMS)
def test_problems(call, error, said):
    with pytest.raises(getattr(ap, error), match=said):
        call()


class Bare:
    """An oracle that answers as it is told to."""

    def __init__(self, policy, z_hat=(10.0, 10.0, 3.5), samples=None, saved=None):
        self.answer = policy, z_hat
        if samples is not None:
            self.samples = samples
        if saved is not None:
            self.save_policy = lambda policy: saved

    def respond(self, lam):
        return self.answer


class Answers:
    """A policy that predicts the same always."""

    def __init__(self, answer):
        self.predict = lambda seen: answer


def right(seen):
    return 6


PUSH = spaces.Box(-1, 1, (2,), np.float32)

ORACLES = [
    (Bare(right, samples=-1), "ProblemError", "the oracle's samples is -1; expected a whole number, 0 or more"),
    (Bare(right, samples="a"), "ProblemError", "the oracle's samples is 'a'"),
    (Bare(right, np.zeros((2, 2, 3))), "ProblemError", "z_hat has shape \\(2, 2, 3\\); expected"),
    (Bare(right, np.zeros((0, 3))), "ProblemError", "z_hat has shape \\(0, 3\\)"),
    (Bare(right, [[1, 2], [3]]), "ProblemError", "z_hat is"),
    (Bare(right, "abc"), "ProblemError", "z_hat is 'abc'; expected numbers"),
    (Bare(right, [1, np.nan, 1]), "ProblemError", "z_hat is .*; expected finite"),
    (Bare(right, [1, 2]), "ProblemError", "expected 3"),
    (Bare(3), "ProblemError", "the policy is 3; expected a function of the observation, or predict"),
    (Bare(right, saved=3), "ProblemError", "save_policy\\(\\) returned 3; expected a dictionary of arrays"),
    (Bare(right, saved={3: [1]}), "ProblemError", "name of an array is 3"),
    (Bare(right, saved={"a": [1, [2]]}), "ProblemError", 'array "a" is'),
    (Bare(right, saved={"a": "b"}), "ProblemError", "array \"a\" is 'b'"),
    (Bare(Answers(6)), "WorldError", "predict\\(\\) returned 6; expected \\(action, state\\)"),
    (Bare(lambda seen: 7), "WorldError", "the policy's action is 7; expected one of Discrete"),
    (Bare(lambda seen: 0), "WorldError", "the policy's action is 0"),
    (Bare(lambda seen: 5.5), "WorldError", "the policy's action is 5.5"),
    (Bare(lambda seen: None), "WorldError", "the policy's action is None"),
    (Bare(lambda seen: np.nan), "WorldError", "the policy's action is nan"),
    (Bare(lambda seen: [5, 6]), "WorldError", "the policy's action is \\[5, 6\\]"),
    (Bare(lambda seen: [5, [6]]), "WorldError", "the policy's action is \\[5, \\[6\\]\\]"),
    (Bare(lambda seen: "left"), "WorldError", "the policy's action is 'left'"),
]


@pytest.mark.parametrize(("oracle", "error", "said"), ORACLES)
def test_oracles(oracle, error, said):
    with pytest.raises(getattr(ap, error), match=said):
        ap.solve(walk(constraints=[cost <= 4]), oracle=oracle, rounds=1)


class Pushed(gymnasium.Env):
    """Does nothing but keep what is done."""

    observation_space = spaces.Discrete(1)

    def __init__(self, space):
        self.action_space, self.done = space, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return 0, {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.done.append(action)
        self.steps += 1
        return 0, 0.0, self.steps == 5, False, {}


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ([0.0], "expected 2 numbers"),
        (None, "is None; expected"),
        ([np.nan, 0.0], "nan"),
        ([0.0, 1.5], "is \\[0.0, 1.5\\]; expected one of Box"),
        ("ab", "is 'ab'"),
    ],
)
def test_forces_of_policies(action, said):
    with pytest.raises(ap.WorldError, match=f"the policy's action.*{said}"):
        push = ap.Problem(Pushed(PUSH), ap.measure("steps") >= 1, discount=1.0)
        ap.solve(push, oracle=Bare(lambda seen: action, [0.0, 5.0]), rounds=1)


SEEN = {
    "box": spaces.Box(0, 255, (2, 2), np.uint8),
    "count": spaces.Discrete(4, start=3),
    "binary": spaces.MultiBinary(3),
    "matrix": spaces.MultiBinary([2, 2]),
    "counts": spaces.MultiDiscrete([3, 4]),
    "tuple": spaces.Tuple([spaces.Discrete(3, start=1), spaces.Box(-1, 1, (2,))]),
    "dictionary": spaces.Dict({"a": spaces.MultiBinary(2), "b": spaces.Discrete(2)}),
}


class Sees(Walk):
    """A walk of two steps that shows random things."""

    def __init__(self, space):
        super().__init__()
        self.observation_space = space
        space.seed(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        _, reward, _, _, about = super().step(action)
        return self.observation_space.sample(), reward, self.steps == 2, False, about


@pytest.mark.parametrize("space", SEEN.values(), ids=SEEN)
def test_policies_of_python_see_what_the_environment_shows(space):
    seen = []

    def policy(observation):
        seen.append(observation)
        return 6

    result = ap.solve(walk(lambda: Sees(space), constraints=[cost <= 4]), oracle=Bare(policy), rounds=1)
    assert all(map(space.contains, seen)) and len(seen) > 10
    shown = [space.sample() for _ in range(3)]
    for one in shown:
        result.policy.reset()
        assert np.shape(result.policy.predict(one)[0]) == ()
        assert np.array_equal(spaces.flatten(space, seen[-1]), spaces.flatten(space, one))
    assert np.shape(result.policy.predict(shown)[0]) == (3,)


def test_whole_forces_are_rounded():
    env = Pushed(spaces.Box(-2, 2, (1,), np.int64))
    ap.solve(ap.Problem(lambda: env, ap.measure("steps") >= 1, discount=1.0), samples=500, rounds=1)
    assert {int(action[0]) for action in env.done} == {-2, -1, 0, 1, 2}


def test_a_wrapped_table_is_played_in():
    for wrap in (gymnasium.wrappers.FlattenObservation, lambda env: gymnasium.wrappers.DtypeObservation(env, float)):
        lake = ap.Problem(lambda wrap=wrap: wrap(gymnasium.make("FrozenLake-v1")), ap.measure("steps") >= 0, discount=1)
        assert ap.solve(lake, samples=500, rounds=1).verdict == "feasible"


@pytest.fixture(scope="module")
def planned():
    return ap.solve("mars-rover")


@pytest.fixture(scope="module")
def learnt():
    return ap.solve("cart-pole", samples=1000, rounds=1)


@pytest.fixture
def run(planned, tmp_path):
    """A copy to be damaged."""
    return ap.load(planned.save(tmp_path / "run"), ap.Problem.load("mars-rover"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: r.evaluate(-1), "episodes is -1; expected a whole number, 2 or more"),
        (lambda r: r.evaluate(0), "episodes is 0"),
        (lambda r: r.evaluate(2.5), "episodes is 2.5"),
        (lambda r: r.evaluate(10, seed=-1), "seed is -1; expected a whole number, 0 or more"),
        (lambda r: r.verify(seed="a"), "seed is 'a'"),
        (lambda r: r.policy.reset(seed=-1), "seed is -1"),
        (lambda r: r.policy.reset(seed=1.5), "seed is 1.5"),
        (lambda r: ap.compare(file="x.html"), "at least one result"),
        (lambda r: ap.compare([r, r], file="x.html"), "pass the results one by one"),
        (lambda r: ap.compare(r, 3, file="x.html"), "3 is no result"),
        (lambda r: ap.compare(r, file=3), "file is 3; expected a path"),
        (lambda r: r.report(None), "file is None; expected a path"),
        (lambda r: r.save(None), "folder is None; expected a path"),
        (lambda r: r.export(None), "file is None; expected a path"),
        (lambda r: r.export("policy.txt"), "^(?!.*--).*policy.txt: expected"),
        (lambda r: ap.load(None), "folder is None; expected a path"),
        (lambda r: ap.solve("mars-rover", oracle=Bare(right)), "made in Python"),
    ],
)
def test_what_is_asked_of_a_result(planned, call, said):
    with pytest.raises(ap.ProblemError, match=said):
        call(planned)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: p.predict(np.zeros(3)), "expected 4"),
        (lambda p: p.predict(np.zeros((2, 3))), "expected 4"),
        (lambda p: p.predict(np.zeros((2, 2, 4))), "expected"),
        (lambda p: p.predict(None), "the observation is None"),
        (lambda p: p.predict("left"), "the observation is 'left'"),
        (lambda p: p.predict([1j, 0, 0, 0]), "expected numbers"),
        (lambda p: p.predict([np.nan, 0, 0, 0]), "expected finite"),
        (lambda p: p.predict(np.zeros((0, 4))), "there is no observation"),
        (lambda p: p.predict({}), "expected"),
        (lambda p: p.predict([0, [0], 0, 0]), "expected one, or a list of several"),
        (lambda p: p.predict(np.zeros((2, 4)), episode_start=[True] * 3), "episode_start"),
    ],
)
def test_what_a_policy_is_shown(learnt, call, said):
    with pytest.raises(ap.WorldError, match=said):
        call(learnt.policy)


@pytest.mark.parametrize("shown", [64, -1, 0.5, None, "a", [[1, 2]]])
def test_what_a_table_of_actions_is_shown(planned, shown):
    with pytest.raises(ap.WorldError, match="the observation|expected"):
        planned.policy.predict(shown)


def test_states_are_counted_from_their_start():
    env = walk(lambda: Sees(spaces.Discrete(4, start=3)), constraints=[cost <= 4])
    policy = ap.solve(env, oracle=Bare(right), rounds=1).policy
    for shown in [2, 7, 3.5, None]:
        with pytest.raises(ap.WorldError, match=f"the observation is {shown}; expected one of Discrete"):
            policy.predict(shown)


WRITES = {
    "report": lambda r, place: r.report(place),
    "save": lambda r, place: r.save(place),
    "export": lambda r, place: r.export(place.with_suffix(".onnx")),
    "compare": lambda r, place: ap.compare(r, r, file=place),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_impossible_places(learnt, tmp_path, write):
    (tmp_path / "file").write_text("")
    with pytest.raises(ap.RunError, match="file/x.*can't be (written|made)"):
        write(learnt, tmp_path / "file" / "x")
    if write is not WRITES["save"]:
        with pytest.raises(ap.RunError, match="nowhere/x.*can't be written"):
            write(learnt, tmp_path / "nowhere" / "x")
    if write in (WRITES["report"], WRITES["compare"]):
        with pytest.raises(ap.RunError, match="can't be written: Is a directory"):
            write(learnt, tmp_path)


def test_a_run_goes_into_no_folder_with_something_in_it(run):
    with pytest.raises(ap.RunError, match="is not empty; choose another folder, or use ap.load or ap.resume"):
        ap.solve("mars-rover", run=run.folder)
    with pytest.raises(ap.RunError, match="is not empty"):
        run.save(run.folder)


READS = {
    "verify": lambda r: r.verify(),
    "load": lambda r: ap.load(r.folder),
    "resume": lambda r: ap.resume(r.folder),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_run_that_is_gone(run, read):
    run.folder.rename(run.folder.parent / "elsewhere")
    with pytest.raises(ap.RunError, match="^(?!.*appropo solve).*/run.*(holds no run|can't be read)"):
        read(run)


def test_what_was_read_of_a_run_stays_when_its_folder_goes(run, tmp_path):
    run.folder.rename(tmp_path / "elsewhere")
    assert run.verdict == "feasible" and len(run.history["round"]) == run.oracle_calls
    assert run.certificate["verdict"] == "feasible" and len(run.policy) >= 1
    assert run.evaluate(5)["steps"]["mean"] > 0
    assert run.report(tmp_path / "report.html").is_file()
    again = ap.load(run.save(tmp_path / "copy"))
    assert again.measurements["failure"] == run.measurements["failure"]


FILES = (
    "run.json",
    "problem.toml",
    "rounds.jsonl",
    "policies.safetensors",
    "manifest.json",
    "certificate.json",
    "result.json",
)

DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "longer": lambda content: b"not JSON\n" + content,
    "no text": lambda content: b"\xff",
    "an array": lambda content: b"[]",
    "an object": lambda content: b"{}",
    "another byte": lambda content: content[:-20] + bytes([content[-20] ^ 1]) + content[-19:],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("file", FILES)
def test_damaged_files(run, file, damage):
    path = run.folder / file
    path.write_bytes(damage(path.read_bytes()))
    for read in (lambda: ap.load(run.folder), run.verify):
        with pytest.raises(ap.RunError, match=f"run/{file}.*restore it from a copy"):
            read()


@pytest.mark.parametrize("file", FILES)
def test_files_that_are_gone(run, file):
    (run.folder / file).unlink()
    named = {"run.json": "run holds no run", "result.json": "run holds no run that has ended"}
    with pytest.raises(ap.RunError, match=named.get(file, f"run/{file} can't be read")):
        ap.load(run.folder)


@pytest.mark.parametrize(
    ("file", "written", "instead"),
    [
        ("result.json", b'"samples"', b'"simples"'),
        ("result.json", b'"feasible"', b'"undecided"'),
        ("certificate.json", b'"distance": ', b'"distance": 9'),
        ("run.json", b'"seed": 0', b'"seed": 1'),
        ("problem.toml", b"at_most = 0.2", b"at_most = 0.3"),
        ("rounds.jsonl", b'"round":1', b'"round":2'),
    ],
)
def test_altered_files(run, file, written, instead):
    path = run.folder / file
    content = path.read_bytes()
    assert written in content
    path.write_bytes(content.replace(written, instead))
    with pytest.raises(ap.RunError, match=f"run/{file}: its checksum does not fit its content"):
        ap.load(run.folder)


def test_files_of_problems(tmp_path):
    bad = tmp_path / "bad.toml"
    for content in [b"\xff", b"discount = 3"]:
        bad.write_bytes(content)
        with pytest.raises(ap.ProblemError, match="bad.toml"):
            ap.Problem.load(bad)
    with pytest.raises(ap.ProblemError, match="can't be read"):
        ap.Problem.load(tmp_path)


def test_what_a_run_lacks_is_named_in_the_words_of_python(tmp_path):
    mine = ap.Custom(lambda x: np.minimum(x, 9), dim=1)
    for constraint in [ap.measure("cost").within(mine), cost <= 9]:
        own, folder = walk(constraints=[constraint]), tmp_path / constraint.required
        ap.solve(own, oracle=Bare(right), rounds=1, run=folder)
        for read in (lambda r: r.evaluate(5), lambda r: r.policy.predict([0.0])):
            with pytest.raises(ap.AppropoError, match="ap.load\\(folder, problem"):
                read(ap.load(folder))
        with pytest.raises(ap.WorldError, match="ap.load\\(folder, problem, oracle\\)"):
            ap.load(folder, own).evaluate(5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: BALL,
        lambda: ap.Custom(abs, 2),
        lambda: problem(),
        lambda: ap.solve("mars-rover"),
        lambda: ap.solve("mars-rover").policy,
    ],
    ids=["set", "custom", "problem", "result", "policy"],
)
def test_pickle_says_what_to_use_instead(make):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="can't be pickled; (make|save)"):
            pickle.dumps(make(), protocol)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_live_as_long_as_they_are_kept(duplicate):
    result = duplicate(ap.solve("mars-rover"))
    gc.collect()
    assert len(result.history["round"]) == result.oracle_calls
    assert duplicate(ap.Custom(lambda x: x, dim=2)).distance([1, 2]) == 0
    assert duplicate(problem()).measures["failure"] == 1
    assert len(duplicate(ap.solve("mars-rover").policy)) >= 1


def test_copies_of_a_policy_play_episodes_of_their_own(learnt):
    policy = learnt.policy
    policy.predict(np.zeros((3, 4)))
    twin = copy.deepcopy(policy)
    twin.predict(np.zeros(4))
    assert len(policy._episodes) == 3 and len(twin._episodes) == 1


def test_names_are_escaped_in_notebooks():
    result = ap.solve(problem(constraints=(ap.measure("failure") <= 0.2).named("<b>&")))
    assert "&lt;b&gt;&amp;" in result._repr_html_() and "<b>&" not in result._repr_html_()


def test_arguments_that_are_no_text():
    done = subprocess.run([sys.executable, "-m", "appropo", "solve", b"\xff"], capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr and "invalid UTF-8" in done.stderr
