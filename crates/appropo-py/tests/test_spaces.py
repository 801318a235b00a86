"""Observations as the solver sees them: counted, as indicators of whole numbers, or as they are."""

import appropo as ap
import gymnasium
import numpy as np
import pytest
from appropo.spaces import flattened
from gymnasium import spaces

COUNTED = {
    "discrete": (spaces.Discrete(4, start=3), 4),
    "grid": (spaces.Box(0, 11, (2,), np.int32), 144),
    "below zero": (spaces.Box(np.array([-2, 5]), np.array([2, 6]), dtype=np.int64), 10),
    "counts": (spaces.MultiDiscrete([3, 4], start=[1, -1]), 12),
    "flags": (spaces.MultiBinary([2, 2]), 16),
    "tuple": (spaces.Tuple([spaces.Discrete(3, start=1), spaces.MultiBinary(2)]), 12),
    "dictionary": (spaces.Dict({"b": spaces.Discrete(2), "a": spaces.MultiDiscrete([2, 5])}), 20),
}


@pytest.mark.parametrize(("space", "size"), COUNTED.values(), ids=COUNTED)
def test_every_element_has_a_place_of_its_own(space, size):
    seen = flattened(space)
    assert seen.size == size
    elements = [seen.unflatten(np.array([float(place)])) for place in range(size)]
    assert all(map(space.contains, elements))
    assert [seen.flatten(element) for element in elements] == list(range(size))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (2,)),
        spaces.Box(0, 255, (4, 4), np.uint8),
        spaces.Box(0, 13, (14,), np.int32),
        spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 1, (1,))]),
    ],
)
def test_what_is_not_whole_or_too_much_is_not_counted(space):
    assert isinstance(flattened(space).size, list)


def test_many_whole_numbers_are_indicators_of_their_values():
    space = spaces.Box(2, 15, (14,), np.int32)
    seen = flattened(space)
    assert len(seen.size) == 14 * 14
    space.seed(0)
    for _ in range(20):
        element = space.sample()
        flat = seen.flatten(element)
        assert flat.sum() == 14
        assert np.array_equal(np.flatnonzero(flat) % 14 + 2, element)
        assert np.array_equal(seen.unflatten(flat), element)
    for wrong in (np.full(14, 1), np.full(14, 16), np.full(14, 2.5), np.full(13, 2), "abc"):
        with pytest.raises(ap.WorldError, match="expected one of Box"):
            seen.flatten(wrong)


def test_pictures_stay_as_they_are():
    space = spaces.Box(0, 255, (4, 4), np.uint8)
    assert len(flattened(space).size) == 16


class Row(gymnasium.Env):
    """Five cells in a row, two fields of which say where one is. The last one pays."""

    observation_space = spaces.Box(0, 4, (2,), np.int32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = 0, 0
        return self._seen(), {}

    def step(self, action):
        self.steps += 1
        self.place = min(max(self.place + (1 if action else -1), 0), 4)
        return self._seen(), float(self.place == 4), self.place == 4, self.steps == 20, {}

    def _seen(self):
        return np.array([self.place, 4 - self.place], dtype=np.int32)


class Beyond(Row):
    """The same, if one believes its observation space, which it leaves."""

    def _seen(self):
        return np.array([self.place, 9], dtype=np.int32)


def goal(world):
    return ap.Problem(world, [ap.measure("reward") >= 0.9, ap.measure("steps") <= 6], discount=1.0, horizon=20)


def test_where_states_can_be_counted_a_model_is_learnt():
    problem = goal(Row)
    assert 'oracle = "model"' in problem.resolved()
    result = ap.solve(problem, samples=20_000)
    assert result.verdict == "feasible"
    assert result.samples < 1_000
    assert result.policy.predict(np.array([0, 4], dtype=np.int32))[0] in (0, 1)
    with pytest.raises(ap.WorldError, match=r"the observation is .*7.*; expected one of Box"):
        result.policy.predict(np.array([0, 7], dtype=np.int32))


def test_an_environment_that_leaves_its_space_is_not_counted():
    problem = goal(Beyond)
    assert 'oracle = "ppo"' in problem.resolved()
    assert ap.solve(problem, samples=20_000).verdict == "feasible"


def test_entries_of_measures_stand_alone():
    moved = {"way": lambda t: [float(t.action), 1.0 - float(t.action), 1.0]}
    right = ap.measure("way")[0] >= 3
    problem = ap.Problem(Row, [right, 2 * ap.measure("way")[1] + ap.measure("steps") <= 30], moved, discount=1.0)
    text = problem.resolved()
    assert 'measure = "way[0]"' in text
    assert 'measure = ["way[1]", "steps"]' in text
    result = ap.solve(problem, samples=20_000)
    assert result.verdict == "feasible"
    assert "at least 3" in str(result)
    with pytest.raises(ap.ProblemError, match=r"way\[3\] is not there: the measure has 3 entries"):
        ap.Problem(Row, [ap.measure("way")[3] >= 1], moved, discount=1.0)
