"""What is judged is the user's own environment, and nothing like it."""

import threading

import appropo as ap
import gymnasium
import numpy as np
import pytest
from appropo.gym import World
from gymnasium.wrappers import TransformReward
from test_environments import Walk, walk


class Long(Walk):
    """Ends after 1,100 steps."""

    def step(self, action):
        self.steps += 1
        return np.zeros(1, np.float32), 1.0, self.steps == 1100, False, {}


def test_episodes_are_cut_off_only_where_the_problem_says_so():
    problem = ap.Problem(Long, [ap.measure("steps") <= 1050], discount=1.0)
    with pytest.raises(ap.WorldError, match="not ended after 1000 steps; give the problem a horizon"):
        ap.solve(problem, samples=4000)
    longer = ap.Problem(Long, [ap.measure("steps") <= 1200], discount=1.0, horizon=40_000)
    assert ap.solve(longer, samples=4000).measurements["steps"] == 1100


LAKE = {"id": "FrozenLake-v1", "is_slippery": False}


class Costly(gymnasium.Wrapper):
    def step(self, action):
        seen, reward, terminated, truncated, about = self.env.step(action)
        return seen, reward, terminated, truncated, {**about, "cost": 1.0}


def test_a_table_is_used_only_for_what_it_holds():
    assert ap.solve(ap.Problem(gymnasium.make(**LAKE), [ap.measure("reward") >= 0.9], discount=1.0)).confidence is None
    tenfold = TransformReward(gymnasium.make(**LAKE), lambda reward: 10 * reward)
    costly = {"cost": ap.info("cost", default=0.0)}
    cut = {"cut": lambda t: float(t.truncated)}
    for env, measure in [(tenfold, {}), (Costly(gymnasium.make(**LAKE)), costly), (gymnasium.make(**LAKE), cut)]:
        problem = ap.Problem(env, [ap.measure("steps") >= 1], measure, discount=1.0)
        with pytest.raises(ap.ProblemError, match="planning needs a known model"):
            ap.solve(problem, oracle="exact")
    short = gymnasium.make(**LAKE, max_episode_steps=3)
    best = ap.maximize(ap.Problem(short, discount=1.0, horizon=100), "reward")
    assert best.value == 0


def test_copies_are_of_the_environment_as_it_is():
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.theta_threshold_radians, env.unwrapped.x_threshold = 1e3, 1e9
    result = ap.solve(ap.Problem(env, [ap.measure("steps") >= 1], discount=1.0, horizon=60), samples=2000)
    assert result.measurements["steps"] == 60


def test_wrapped_vector_environments_are_refused():
    vector = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    wrapped = gymnasium.wrappers.vector.TransformReward(vector, lambda reward: 3 * reward)
    with pytest.raises(ap.ProblemError, match="wrap the single environments"):
        ap.Problem(wrapped, [ap.measure("reward") <= 40], discount=1.0)


def test_a_run_is_loaded_with_its_own_problem(tmp_path):
    ap.solve(walk(y=lambda t: 2.0), samples=300, rounds=1, run=tmp_path / "run")
    with pytest.raises(ap.ProblemError, match="the environment given here measures"):
        ap.load(tmp_path / "run", walk()).evaluate(2)
    with pytest.raises(ap.ProblemError, match="expected the ap.Problem"):
        ap.load(tmp_path / "run", 3)


def test_measures_keep_their_meaning():
    with pytest.raises(ap.ProblemError, match='"steps" counts steps'):
        walk(steps=lambda t: 7.0)
    assert walk(steps=1.0).measures["steps"] == 1

    def changing(t):
        return [1.0] * (1 if t.observation[0] >= 0 else 2)

    with pytest.raises(ap.WorldError, match='measure "x" has 2 entries here; expected 1'):
        ap.solve(walk(x=changing, y=lambda t: [1.0] * (3 - len(changing(t)))), samples=2000)


def test_actions_are_those_of_the_world():
    world = World("mars-rover")
    world.reset(seed=0)
    for action in [-1, 4, 1.5, np.nan, None]:
        with pytest.raises(ap.WorldError, match="expected one of"):
            world.step(action)


def test_a_set_of_cvxpy_is_as_good_as_ours():
    import cvxpy

    x = cvxpy.Variable(2)
    disc = ap.Custom.from_cvxpy(x, [cvxpy.norm(x - np.array([0.1, -0.13])) <= 0.05], name="a disc")
    ours = ap.Ball([0.1, -0.13], 0.05)
    for target in (disc, ours):
        problem = ap.Problem("mars-rover", [ap.measure("failure", "reward").within(target)], discount=0.99)
        assert ap.solve(problem, tolerance=1e-5).verdict == "feasible"
    far = np.array([[1e9, 0.0], [-1e6, 1e6]])
    assert np.allclose(disc.project(far), ours.project(far), atol=1e-6)


def test_policies_of_python_act_from_several_threads():
    class Bare:
        def respond(self, lam):
            return (lambda seen: 6), [10.0, 10.0, 0.0]

    policy = ap.solve(walk(), oracle=Bare(), rounds=1).policy
    threads = [threading.Thread(target=lambda: [policy.predict(np.zeros(1)) for _ in range(200)]) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join(timeout=60) for thread in threads]
    assert not any(thread.is_alive() for thread in threads)


def test_batches_of_one_stay_batches():
    policy = ap.solve("cart-pole", samples=3000, rounds=1).policy
    assert np.shape(policy.predict(np.zeros(4))[0]) == ()
    assert np.shape(policy.predict(np.zeros((1, 4)))[0]) == (1,)
    assert np.shape(policy.predict(np.zeros((3, 4)), episode_start=[True, False, True])[0]) == (3,)
    for wrong in [np.zeros(3), np.zeros((2, 5)), None, "left"]:
        with pytest.raises(ap.WorldError):
            policy.predict(wrong)


@pytest.mark.parametrize("make", [lambda: ap.Simplex(0), lambda: ap.Semidefinite(0), lambda: ap.Custom(abs, 0)])
def test_sets_have_a_dimension(make):
    with pytest.raises(ap.SetError, match="expected a whole number, 1 or more"):
        make()


def test_slips_are_told():
    cost = ap.measure("cost")
    half, times = (constraint.built({"cost": 1})[0].stated for constraint in (cost / 2 <= 1, 0.5 * cost <= 1))
    assert half == times == "halfspace = { normal = [0.5], offset = 1 }"
    assert ap.Problem(Walk, cost <= 1, {"cost": "cost"}, discount=1.0).measures["cost"] == 1
    for slip in [lambda: cost <= None, lambda: cost.within([1]), lambda: cost <= np.inf]:
        with pytest.raises(ap.ProblemError, match="expected|make one"):
            slip()
