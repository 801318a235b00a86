"""Players, oracles and methods with their options."""

import subprocess
import sys
from pathlib import Path

import appropo as ap
import pytest
from appropo import choices
from test_environments import walk

PACKAGE = Path(__file__).parents[1]


def test_the_module_is_what_the_library_registers():
    made = subprocess.run([sys.executable, PACKAGE / "generate_choices.py"], capture_output=True, check=True)
    assert made.stdout.decode() == (PACKAGE / "python/appropo/choices.py").read_text(encoding="utf-8")


def rover(**settings):
    return ap.Problem.load("mars-rover").resolved(**settings)


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ({"oracle": ap.PPO(learning_rate=0.5)}, ['oracle = "ppo"', "learning_rate = 0.5", "n_steps = 64  # default"]),
        ({"oracle": ap.PPO(net_arch=[8, 8], learned={"episodes": 50})}, ["net_arch = [8, 8]", "episodes = 50"]),
        ({"oracle": ap.A2C(learning_rate=0.25)}, ['oracle = "a2c"', "[solve.a2c]", "learning_rate = 0.25"]),
        ({"oracle": ap.QLearning(learning_rate=0.25)}, ['oracle = "q-learning"', "learning_rate = 0.25"]),
        ({"oracle": ap.ModelBased()}, ['oracle = "model"']),
        ({"oracle": ap.Exact(planner="value-iteration")}, ['oracle = "exact"', 'planner = "value-iteration"']),
        ({"player": ap.OGD(eta=0.125)}, ['player = "ogd"', "eta = 0.125"]),
        ({"player": ap.Momentum(eta=0.125)}, ['player = "momentum"', "eta = 0.125"]),
        ({"player": ap.Blackwell()}, ['player = "blackwell"']),
        ({"method": ap.Lagrangian(ki=5)}, ['method = "lagrangian"', 'oracle = "ppo"', "[solve.lagrangian]", "ki = 5"]),
        (
            {"method": ap.CPO(target_kl=0.02)},
            ['method = "cpo"', "[solve.cpo]", "target_kl = 0.02", "cg_max_steps = 10"],
        ),
        ({"method": ap.RCPO(multiplier_lr=0.5)}, ['method = "rcpo"', 'oracle = "a2c"', "multiplier_lr = 0.5"]),
        ({"method": ap.LastIterate(eta=3)}, ['method = "last-iterate"', 'oracle = "exact"', "eta = 3"]),
        (
            {"method": ap.LastIterate(kp=0.5), "oracle": ap.A2C()},
            ['method = "last-iterate"', 'oracle = "a2c"', "kp = 0.5"],
        ),
        (
            {"method": ap.StateAugmented(learning=0.5)},
            ['method = "state-augmented"', 'oracle = "ppo"', "learning = 0.5"],
        ),
        ({"method": ap.Occupancy()}, ['method = "occupancy"']),
        (
            {"player": ap.FullyCorrective(margin=2), "oracle": ap.PPO()},
            ['player = "fully-corrective"', "margin = 2\n", 'oracle = "ppo"'],
        ),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_options_reach_the_solver(settings, lines, tmp_path):
    text = rover(**settings)
    for line in lines:
        assert line in text
    # They are those of the run as well.
    ap.solve("mars-rover", **settings, samples=300, rounds=1, run=tmp_path / "run")
    kept = (tmp_path / "run/problem.toml").read_text()
    assert all(line in kept for line in lines)


def test_options_are_those_of_tables():
    assert rover(oracle=ap.PPO(learning_rate=0.5)) == rover(oracle="ppo", ppo={"learning_rate": 0.5})
    assert rover(oracle=ap.PPO()) == rover(oracle="ppo")
    assert rover(oracle=ap.PPO(n_steps=None)) == rover(oracle="ppo")


def test_options_change_what_is_found():
    rates = [1e-3, 1e-3, 1e-2]
    found = [ap.solve("mars-rover", oracle=ap.PPO(learning_rate=rate), samples=4_000, rounds=3) for rate in rates]
    first, same, other = (result.measurements["failure"] for result in found)
    assert first == same != other


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"oracle": ap.PPO(learning_rate="fast")}, 'learning_rate: found the text "fast"; expected a number'),
        ({"oracle": ap.PPO(learning_rate=-1)}, "learning_rate: found -1; expected a number above 0"),
        ({"oracle": ap.PPO(learned={"episods": 3})}, 'unknown key "episods"; did you mean "episodes"'),
        ({"oracle": ap.PPO(net_arch={1, 2})}, "{1, 2} is no number, text, list or table"),
        ({"oracle": ap.A2C(n_steps=1.5)}, "n_steps: found the number 1.5; expected a whole number"),
        ({"oracle": ap.QLearning(learning_rate=[1])}, "learning_rate: found an array; expected a number"),
        ({"oracle": ap.Exact(planner="guess")}, 'planner: "guess" is not known here; write one of policy-iteration'),
        ({"player": ap.OGD(eta=-1)}, "eta: found -1; expected a number above 0"),
        ({"player": ap.FullyCorrective(margin=-1)}, "margin: found -1; expected a number, 0 or more"),
        ({"player": ap.FullyCorrective(anchor={"rewards": 1})}, 'rewards: no such measure; did you mean "reward"'),
        ({"player": ap.PPO()}, "player is PPO\\(\\), which is one of the oracles; expected a player"),
        ({"oracle": ap.OGD(eta=1)}, "oracle is OGD\\(eta=1\\), which is one of the players; expected an oracle"),
        ({"method": ap.Lagrangian(ki=-1)}, "ki: found -1; expected a number, 0 or more"),
        ({"method": ap.RCPO(), "oracle": "exact"}, '"exact" is no learner that goes on while its reward changes'),
        ({"method": ap.PPO()}, "method is PPO\\(\\), which is one of the oracles; expected a method"),
        ({"method": 3}, "method is 3; expected a name, or an object such as ap.Lagrangian"),
        ({"player": 3}, "player is 3; expected a name, or an object such as ap.OGD"),
        ({"oracle": ap.PPO(n_steps=8), "ppo": {"n_steps": 9}}, "ppo is given in PPO\\(n_steps=8\\) and beside it"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_wrong_options_are_told(settings, said):
    for call in (rover, lambda **settings: ap.solve("mars-rover", **settings)):
        with pytest.raises(ap.ProblemError, match=said):
            call(**settings)


def test_what_learners_share_is_a_dictionary():
    with pytest.raises(ap.ProblemError, match="learned is 3; expected a dictionary"):
        ap.PPO(learned=3)


def test_names_that_are_no_options():
    with pytest.raises(TypeError, match="learning_rte"):
        ap.PPO(learning_rte=1)


def test_every_choice_is_of_the_package():
    kinds = [kind for kind in vars(choices).values() if isinstance(kind, type) and issubclass(kind, choices.Choice)]
    for kind in kinds:
        if kind.name:
            assert getattr(ap, kind.__name__) is kind and kind.__name__ in ap.__all__
            assert repr(kind()) == f"{kind.__name__}()"


def test_planning_needs_a_model():
    for best in (ap.maximize, ap.minimize):
        with pytest.raises(ap.ProblemError, match="the environment has no model to plan in; leave"):
            best(walk(), "cost", search="binary")
    with pytest.raises(ap.ProblemError, match="planning needs a known model"):
        ap.solve(walk(), oracle=ap.Exact())
