"""Oracles that are Python objects."""

import appropo as ap
import numpy as np
import pytest
from test_environments import Walk, walk


class Chooser:
    """Knows three ways to walk, and answers with the best of them for λ. Goes right with some probability."""

    samples = 0

    def __init__(self):
        self.asked = []

    def respond(self, lam):
        self.asked.append(lam)
        self.samples += 100
        chances = [0.0, 0.5, 1.0]
        measured = [self.measured(chance) for chance in chances]
        best = int(np.argmin([lam @ rows.mean(axis=0) for rows in measured]))
        return Walker(chances[best]), measured[best]

    @staticmethod
    def measured(chance):
        rng = np.random.default_rng(0)
        places = np.cumsum(np.where(rng.random((400, 10)) < chance, 1, -1), axis=1)
        # reward, steps, cost
        return np.stack([np.full(400, 10.0), np.full(400, 10.0), np.sum(places < 0, axis=1)], axis=1)

    def save_policy(self, policy):
        return {"chance": np.array([policy.chance])}

    def load_policy(self, arrays):
        return Walker(float(arrays["chance"][0]))

    def seed_policy(self, policy, seed):
        policy.rng = np.random.default_rng(seed)


class Walker:
    def __init__(self, chance):
        self.chance, self.rng = chance, np.random.default_rng(0)

    def predict(self, observation):
        assert observation.shape == (1,) and observation.dtype == np.float32
        return 6 if self.rng.random() < self.chance else 5, None


EXACTLY = [(ap.measure("cost") >= 1.0).named("some"), (ap.measure("cost") <= 3.0).named("not many")]


def test_an_object_that_answers(tmp_path):
    oracle, problem = Chooser(), walk(constraints=EXACTLY)
    result = ap.solve(problem, oracle=oracle, run=tmp_path / "run")
    assert result.verdict == "feasible"
    assert 1.0 <= result.measurements["cost"] <= 3.0
    assert result.samples == oracle.samples
    # λ speaks of every measure, and only the cost is constrained.
    assert all(lam.shape == (3,) and lam[0] == lam[1] == 0 for lam in oracle.asked)

    again = ap.load(tmp_path / "run", problem, oracle=Chooser())
    assert "verified: feasible" in again.verify()
    assert again.evaluate(500)["cost"]["mean"] == pytest.approx(result.measurements["cost"], abs=0.8)
    assert again.policy.predict(np.zeros(1, np.float32))[0] in (5, 6)
    with pytest.raises(ap.WorldError, match="is Python's and not here"):
        ap.load(tmp_path / "run", problem).evaluate(10)


def test_an_object_with_nothing_but_answers(tmp_path):
    class Bare:
        def respond(self, lam):
            return (lambda seen: 6 if np.random.random() < 0.5 else 5), Chooser.measured(0.5)

    problem = walk(constraints=[ap.measure("cost") <= 9])
    result = ap.solve(problem, oracle=Bare(), run=tmp_path / "run")
    assert result.verdict == "feasible"
    assert result.policy.predict(np.zeros(1, np.float32))[0] in (5, 6)
    assert ap.load(tmp_path / "run").verdict == "feasible"
    with pytest.raises(ap.RunError, match="has no load_policy"):
        ap.load(tmp_path / "run", problem, oracle=Bare()).evaluate(5)


def test_the_same_answers_give_the_same_run():
    runs = [ap.solve(walk(constraints=EXACTLY), oracle=Chooser(), seed=0).measurements for _ in range(2)]
    assert runs[0] == runs[1]


def test_spaces_are_looked_at_once(monkeypatch):
    """Not in every step of a policy of Python's."""
    made, make = [], ap.oracles.chooser
    monkeypatch.setattr(ap.oracles, "chooser", lambda space: made.append(space) or make(space))
    ap.solve(walk(), oracle=Chooser(), rounds=1)
    assert made == [Walk.action_space]


def test_a_single_row_is_taken_for_exact():
    """The mixture then goes no farther than to the edge of the set."""

    class Sure(Chooser):
        def respond(self, lam):
            policy, rows = super().respond(lam)
            return policy, rows.mean(axis=0)

    def until_in_the_set(line):
        mixtures.append(line["mixture"]["cost"])
        if line["distance"] < 1e-6:
            raise Mine("found")

    mixtures = []
    with pytest.raises(Mine, match="found"):
        ap.solve(walk(constraints=EXACTLY), oracle=Sure(), callback=until_in_the_set)
    assert mixtures[-1] == pytest.approx(1.0, abs=1e-6) or mixtures[-1] == pytest.approx(3.0, abs=1e-6)


class Mine(Exception):
    pass


def raises(*_):
    raise Mine("in the oracle")


@pytest.mark.parametrize(
    ("respond", "error", "said"),
    [
        (raises, Mine, "in the oracle"),
        (lambda lam: Walker(1.0), ap.ProblemError, "expected \\(policy, z_hat\\)"),
        (lambda lam: (Walker(1.0), [1.0]), ap.ProblemError, "1 entries; expected 3"),
        (lambda lam: (Walker(1.0), [1.0, np.nan, 1.0]), ap.ProblemError, "nan"),
        (lambda lam: (raises, [10.0, 10.0, 3.5]), Mine, "in the oracle"),
        (lambda lam: (lambda seen: [1, 2, 3], [10.0, 10.0, 3.5]), ap.WorldError, "expected one of Discrete"),
    ],
)
def test_what_goes_wrong_in_an_oracle_comes_out(respond, error, said):
    class Bad:
        pass

    oracle = Bad()
    oracle.respond = respond
    with pytest.raises(error, match=said):
        ap.solve(walk(constraints=EXACTLY), oracle=oracle, rounds=3)


def test_what_is_no_oracle_is_refused():
    with pytest.raises(ap.ProblemError, match="an object with respond"):
        ap.solve(walk(constraints=EXACTLY), oracle=Walk())


def test_networks_of_python_act_as_they_should():
    """Two layers by hand against the policy of a run that consists of them."""
    rng = np.random.default_rng(3)
    first, last = rng.normal(size=(8, 1)).astype(np.float32), rng.normal(size=(2, 8)).astype(np.float32)
    bias = rng.normal(size=8).astype(np.float32)

    class Fixed:
        def respond(self, lam):
            from appropo._appropo import Network

            return Network([(first, bias.tolist()), (last, [0.0, 0.5])], "tanh", False), [10.0, 10.0, 3.5]

    result = ap.solve(walk(constraints=EXACTLY), oracle=Fixed(), rounds=1)
    policy = result.policy
    policy.reset(seed=1)
    x = np.array([0.7], np.float32)
    logits = last @ np.tanh(first @ x + bias) + [0.0, 0.5]
    expected = np.exp(logits[1]) / np.exp(logits).sum()
    drawn = policy.predict(np.tile(x, (20_000, 1)))[0] == 6
    assert np.mean(drawn) == pytest.approx(expected, abs=0.015)
    assert policy.predict(x, deterministic=True)[0] == 5 + int(np.argmax(logits))
