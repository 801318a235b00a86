"""Environments of every kind: what is seen, done and measured, and what goes wrong there."""

import appropo as ap
import gymnasium
import numpy as np
import pytest
from appropo.gym import World
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

STEPS = 10_000


class Walk(gymnasium.Env):
    """A walk of ten steps: what is seen is where one is, what is done is where to."""

    observation_space = spaces.Box(-20, 20, (1,), np.float32)
    action_space = spaces.Discrete(2, start=5)

    def __init__(self, fails=None):
        self.fails = fails

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = 0, 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.steps += 1
        self.place += 1 if action == 6 else -1
        if self.fails is not None:
            self.fails(self)
        about = {"cost": float(self.place < 0), "even": np.array([self.place % 2, 1.0])}
        return np.array([self.place], np.float32), 1.0, self.steps == 10, False, about


RIGHT = [ap.measure("cost") <= 2.0]


def walk(env=Walk, constraints=RIGHT, **measure):
    return ap.Problem(env, constraints, {"cost": "cost", **measure}, discount=1.0, horizon=20)


def test_a_walk_is_kept_to_the_right():
    result = ap.solve(walk(), samples=20_000, seed=1)
    assert result.verdict == "feasible"
    assert result.measurements["steps"] == result.measurements["reward"] == pytest.approx(10)
    # The policy itself does what the result says.
    env, policy, costs = Walk(), result.policy, []
    policy.reset(seed=3)
    for _ in range(300):
        observation, _ = env.reset()
        over, cost, start = False, 0.0, True
        while not over:
            action, _ = policy.predict(observation, episode_start=start)
            observation, _, over, _, about = env.step(action)
            cost, start = cost + about["cost"], False
        costs.append(cost)
    assert np.mean(costs) <= 2.0 + 0.3
    assert result.evaluate(200)["cost"]["mean"] <= 2.3


@pytest.mark.parametrize(
    "env",
    [Walk, Walk(), lambda: gymnasium.wrappers.TimeLimit(Walk(), 7)],
    ids=["class", "object", "function"],
)
def test_an_environment_may_be_given_in_any_way(env):
    result = ap.solve(walk(env), samples=600, rounds=2)
    assert result.samples >= 600


def test_measures_of_all_kinds():
    result = ap.solve(
        walk(
            twice=lambda t: 2 * t.reward,
            even=ap.info("even"),
            rare=ap.info("rare", default=0.25),
            moved=lambda t: [t.observation[0] - t.previous[0], t.terminated],
        ),
        samples=400,
        rounds=1,
    )
    found = result.measurements
    assert found["twice"] == pytest.approx(20)
    assert found["even"] == pytest.approx([5, 10])
    assert found["rare"] == pytest.approx(2.5)
    assert found["moved"][1] == pytest.approx(1)


def test_whole_numbers_may_be_written_as_floats():
    found = [ap.solve(walk(), samples=s, rounds=r, seed=n) for s, r, n in [(2000, 2, 3), (2e3, 2.0, np.float64(3))]]
    assert found[0].measurements == found[1].measurements and found[0].samples == found[1].samples


def test_the_same_seed_gives_the_same_run():
    runs = [ap.solve(walk(), samples=3000, seed=seed) for seed in (4, 4, 5)]
    columns = [run.history["mixture/cost"].tolist() for run in runs]
    assert columns[0] == columns[1] != columns[2]
    assert runs[0].measurements == runs[1].measurements


class Push(gymnasium.Env):
    """A point that is pushed by two forces."""

    observation_space = spaces.Dict({"place": spaces.Box(-9, 9, (2,)), "mode": spaces.Discrete(3)})
    action_space = spaces.Box(np.array([[-1.0], [0.0]]), np.array([[1.0], [2.0]]), dtype=np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = np.zeros(2), 0
        return {"place": self.place.astype(np.float32), "mode": 1}, {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.steps += 1
        self.place = np.clip(self.place + action[:, 0], -9, 9)
        seen = {"place": self.place.astype(np.float32), "mode": 2}
        return seen, 0.0, False, self.steps == 8, {}


def test_forces_and_dictionaries():
    place = ap.norm(ap.measure("end") - [0.0, 4.0]) <= 3.0
    end = {"end": lambda t: t.observation["place"] if t.truncated else [0.0, 0.0]}
    result = ap.solve(ap.Problem(Push, [place], end, discount=1.0), samples=30_000)
    assert result.verdict == "feasible"
    action, _ = result.policy.predict({"place": np.zeros(2), "mode": 0})
    assert Push.action_space.contains(action)


class Safety:
    """The shape of a Safety-Gymnasium environment: six values a step."""

    observation_space = spaces.Box(-1, 1, (2,), np.float64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(2), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(2), float(action), 0.5 * float(action), False, self.steps == 5, {}


def test_six_values_a_step():
    problem = ap.Problem(Safety, [ap.measure("cost") <= 1.0], {"cost": "cost"}, discount=1.0)
    result = ap.solve(problem, samples=5000)
    assert result.verdict == "feasible"
    assert result.measurements["cost"] == pytest.approx(result.measurements["reward"] / 2)


@pytest.mark.parametrize(
    ("name", "own", "settings"),
    [
        ("FrozenLake-v1", "frozen-lake", {}),
        ("FrozenLake8x8-v1", "frozen-lake", {"map": "8x8"}),
        ("CliffWalking-v1", "cliff-walking", {}),
    ],
)
def test_tables_agree_with_gymnasium_step_by_step(name, own, settings):
    """What each of 10,000 steps in our world leads to is what Gymnasium's table says it may."""
    theirs = gymnasium.make(name).unwrapped
    ours = ap.Problem(ap.BuiltIn(own, settings), [ap.measure("steps") >= 0], discount=0.9)
    table = {}
    world = World(own, **settings)
    world.reset(seed=0)
    rng = np.random.default_rng(0)
    assert world.observation_space.n >= theirs.observation_space.n
    assert world.action_space.n == theirs.action_space.n
    state, _ = world.reset(seed=1)
    for _ in range(STEPS):
        action = int(rng.integers(theirs.action_space.n))
        observation, reward, ended, _, _ = world.step(action)
        possible = table.setdefault((state, action), [(n, r, d) for p, n, r, d in theirs.P[state][action] if p > 0])
        assert any(
            observation == following and reward == pytest.approx(gain) and ended == over
            for following, gain, over in possible
        ), (state, action, observation, reward, ended, possible)
        state = world.reset()[0] if ended else observation
    assert ours.measures["steps"] == 1


@pytest.mark.parametrize("name", ["deep-sea-treasure-v0", "deep-sea-treasure-concave-v0"])
def test_deep_sea_treasure_agrees_with_mo_gymnasium_step_by_step(name):
    mo_gymnasium = pytest.importorskip("mo_gymnasium")
    theirs = mo_gymnasium.make(name).unwrapped
    ours = World("deep-sea-treasure", map="concave" if "concave" in name else "convex")
    rng = np.random.default_rng(0)
    ours.reset(seed=0), theirs.reset(seed=0)
    for _ in range(STEPS):
        action = int(rng.integers(4))
        seen, _, ended, _, about = ours.step(action)
        place, reward, over, _, _ = theirs.step(action)
        assert about["z"]["treasure"] == pytest.approx(float(reward[0]), abs=1e-5)
        assert about["z"]["reward"] == pytest.approx(float(reward[1])) if "reward" in about["z"] else True
        assert ended == over
        if ended:
            ours.reset(), theirs.reset()
        else:
            columns = 11
            assert (seen // columns, seen % columns) == tuple(int(v) for v in place)


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_a_table_is_planned_in_exactly(name):
    env = gymnasium.make(name)
    best = ap.maximize(ap.Problem(env, discount=0.95, horizon=100), "reward")
    # Backward induction by hand.
    table, values = env.unwrapped.P, np.zeros(env.observation_space.n)
    for _ in range(100):
        values = np.array(
            [
                max(
                    sum(p * (r + 0.95 * (0 if over else values[n])) for p, n, r, over in outcomes)
                    for outcomes in table[state].values()
                )
                for state in range(len(values))
            ]
        )
    expected = float(np.dot(env.unwrapped.initial_state_distrib, values))
    assert best.value == pytest.approx(expected, abs=1e-7)
    assert best.bound == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("mars-rover", {}),
        ("deep-sea-treasure", {}),
        ("frozen-lake", {}),
        ("cliff-walking", {}),
        ("bandit", {}),
        ("cart-pole", {"horizon": 500}),
        ("point-mass", {"horizon": 50}),
        ("arm", {"horizon": 50}),
        ("lander", {"horizon": 50}),
        ("garnet", {}),
        ("gridworld", {}),
    ],
)
def test_our_worlds_are_gymnasium_environments(name, settings):
    check_env(World(name, **settings), skip_render_check=True)


def test_mo_gymnasium_rewards_are_vectors():
    pytest.importorskip("mo_gymnasium")
    problem = ap.Problem(
        "deep-sea-treasure-v0",
        [ap.measure("reward") >= [0.5, -30.0]],
        discount=1.0,
        horizon=30,
    )
    assert problem.measures == {"reward": 2, "steps": 1}
    result = ap.solve(problem, samples=20_000)
    assert result.verdict == "feasible"
    assert result.measurements["reward"][1] == pytest.approx(-result.measurements["steps"])


class Counted(Walk):
    """Shows how long its episodes are, each as long as drawn at its start."""

    observation_space = spaces.Box(-100, 100, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        seen, about = super().reset(seed=seed)
        self.length = int(self.np_random.integers(3, 9))
        return np.array([0, self.length], np.float32), about

    def step(self, action):
        seen, reward, _, _, about = super().step(action)
        over = self.steps == self.length
        return np.array([self.place, self.length], np.float32), reward, over and self.length % 2 == 0, over, about


@pytest.mark.parametrize("mode", list(gymnasium.vector.AutoresetMode), ids=lambda mode: mode.name)
@pytest.mark.parametrize("oracle", ["ppo", "a2c"])
def test_vector_environments(mode, oracle):
    """Whatever the mode, episodes are whole: their steps are their lengths, and nothing is counted between them."""
    env = gymnasium.vector.SyncVectorEnv([Counted] * 3, autoreset_mode=mode)
    lengths = {"off": lambda t: abs(t.observation[1] - t.previous[1])}
    ends = {"rest": lambda t: t.observation[1] - 1.0 if t.terminated or t.truncated else -1.0}
    problem = ap.Problem(
        env, [ap.measure("cost") <= 1.5], {"cost": "cost", **lengths, **ends}, discount=1.0, horizon=50
    )
    result = ap.solve(problem, oracle=oracle, samples=6000, seed=1)
    assert result.measurements["off"] == 0
    assert result.measurements["rest"] == pytest.approx(0, abs=1e-9)
    assert result.verdict == "feasible"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_vector_environments_by_their_id(kind):
    env = gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode=kind)
    problem = ap.Problem(env, [ap.measure("steps") >= 35], discount=1.0, horizon=60)
    result = ap.solve(problem, samples=60_000)
    assert result.verdict == "feasible"
    with pytest.raises(ap.ProblemError, match="observations and actions that can be counted"):
        ap.solve(problem, oracle="q-learning")
    env.close()


def test_functions_that_make_vector_environments():
    def make():
        return gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")

    results = [
        ap.solve(ap.Problem(env, [ap.measure("steps") >= 10], discount=1.0, horizon=50), samples=2000, seed=3)
        for env in (make, make())
    ]
    assert results[0].measurements == results[1].measurements


class Counts(Walk):
    """A walk whose observations are whole numbers in a Box."""

    observation_space = spaces.Box(-20, 20, (1,), np.int64)


class Wanders(Counts):
    """A walk that leaves the space it declares."""

    observation_space = spaces.Box(-2, 2, (1,), np.int64)


def test_whole_numbers_in_a_box_are_states():
    result = ap.solve(walk(Counts), oracle="model", samples=20_000)
    assert result.verdict == "feasible"
    with pytest.raises(ap.ProblemError, match="a known model, such as a table of probabilities"):
        ap.solve(walk(Counts), oracle="exact")


@pytest.mark.parametrize("env", [Walk, Wanders])
def test_numbers_outside_the_declared_whole_ones_are_no_states(env):
    with pytest.raises(ap.ProblemError, match="observations and actions that can be counted"):
        ap.solve(walk(env), oracle="model")


def test_vector_environments_that_only_start_together_are_refused():
    with pytest.raises(ap.ProblemError, match="can't start one of its copies alone"):
        ap.Problem(gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point"), discount=1.0)


def test_normalisation_is_kept():
    from appropo.wrappers import NormalizeObservation, NormalizeReward

    env = NormalizeObservation.fitted(gymnasium.make("CartPole-v1"), episodes=50)
    again = NormalizeObservation(gymnasium.make("CartPole-v1"), **env.numbers())
    seen = [wrapped.reset(seed=3)[0] for wrapped in (env, again)]
    assert np.array_equal(*seen) and seen[0].dtype == np.float32
    shown = []
    for _ in range(20):
        shown.append(env.reset()[0])
        over = False
        while not over:
            observation, _, over, _, _ = env.step(env.action_space.sample())
            shown.append(observation)
    assert np.abs(np.mean(shown, axis=0)).max() < 0.5 and np.abs(np.std(shown, axis=0) - 1).max() < 0.5
    rewarded = NormalizeReward.fitted(gymnasium.make("CartPole-v1"), discount=1.0)
    rewarded.reset(seed=0)
    assert rewarded.step(0)[1] == pytest.approx(1 / rewarded.numbers()["deviation"])
    with pytest.raises(ap.ProblemError, match="only a Box"):
        NormalizeObservation(gymnasium.make("FrozenLake-v1"), 0, 1)


class Corridor(gymnasium.Env):
    """Ends by some steps into state 1, not by others; only ends in state 2."""

    observation_space, action_space = gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(2)
    initial_state_distrib = np.array([1.0, 0.0, 0.0])
    P = {
        0: {0: [(1.0, 1, 5.0, True)], 1: [(1.0, 1, 1.0, False)]},
        1: {0: [(1.0, 2, 1.0, True)], 1: [(0.5, 2, 10.0, True), (0.5, 0, 0.0, False)]},
        2: {0: [(1.0, 2, 0.0, True)], 1: [(1.0, 2, 0.0, True)]},
    }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return self.state, {}

    def step(self, action):
        outcomes = self.P[self.state][int(action)]
        _, self.state, reward, ended = outcomes[self.np_random.integers(len(outcomes))]
        return self.state, reward, ended, False, {}


def test_whether_a_step_ends_is_the_tables_to_say():
    problem = ap.Problem(Corridor, ap.measure("steps") <= 100, discount=0.9)
    # Between 5 at once, and 1 + 0.9 (5 + 0.9 v / 2) = v again and again.
    assert ap.maximize(problem, "reward").value == pytest.approx(5.5 / (1 - 0.405))
    assert ap.minimize(problem, "reward").value == pytest.approx(1.9)
    quick = ap.Problem(Corridor, ap.measure("steps") <= 1, discount=0.9)
    assert ap.maximize(quick, "reward").value == pytest.approx(5)
