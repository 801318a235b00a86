"""Models of model checkers, of arrays and of tables."""

from __future__ import annotations

import sys
from pathlib import Path

import appropo as ap
import gymnasium
import numpy as np
import pytest

DRN = """\
@type: MDP
@parameters

@reward_models
energy
@nr_states
4
@nr_choices
6
@model
state 0 init
\taction hurry [3]
\t\t2 : 0.85
\t\t3 : 0.15
\taction glide [1]
\t\t1 : 0.5
\t\t2 : 0.5
state 1 windy
\taction press_on [2]
\t\t2 : 0.9
\t\t3 : 0.1
\taction go_back [1]
\t\t0 : 1
state 2 delivered
\taction rest [0]
\t\t2 : 1
state 3 crashed
\taction rest [0]
\t\t3 : 1
"""


@pytest.fixture
def drone(tmp_path: Path) -> ap.Model:
    file = tmp_path / "drone.drn"
    file.write_text(DRN)
    return ap.Model.read(file)


def test_a_file_is_a_world(drone: ap.Model, tmp_path: Path) -> None:
    assert repr(drone) == (
        "<Model: 4 states, 6 choices, 9 transitions; rewards energy; labels crashed, delivered, windy>"
    )
    assert drone.state(1)["choices"] == [("press_on", [(0.9, 2), (0.1, 3)]), ("go_back", [(1.0, 0)])]
    world = drone.measuring(reach=["delivered"], time="windy")
    problem = ap.Problem(world, ap.measure("energy") <= 2.4, discount=1)
    assert list(problem.measures) == ["energy", "steps", "reach(delivered)", "time(windy)"]
    # Gliding until it is there costs 3 and never fails; pressing on costs 2 and delivers 0.95.
    result = ap.maximize(problem, "reach(delivered)")
    assert result.value == pytest.approx(0.95 + 0.05 * 0.4, abs=1e-9)
    none = ap.Problem(drone.measuring(reach="crashed", rewards=[]), discount=1)
    assert list(none.measures) == ["steps", "reach(crashed)"]
    assert "rewards = []" in none.resolved()
    # A run names the file, so that it can be taken up and checked from anywhere.
    assert f'model = "{tmp_path / "drone.drn"}"' in problem.resolved()


def test_what_is_written_is_read_again(drone: ap.Model, tmp_path: Path) -> None:
    for name in ("a.umb", "a.drn", "a.drn.gz"):
        drone.write(tmp_path / name)
        assert ap.Model.read(tmp_path / name).checksum == drone.checksum
    with pytest.raises(ap.RunError):
        drone.write(tmp_path / "a.umb")
    with pytest.raises(ap.ProblemError, match="expected a name that ends in"):
        drone.write(tmp_path / "a.txt")


def test_arrays_of_every_shape_are_the_same_model(drone: ap.Model) -> None:
    hurry = np.zeros((4, 4))
    glide = np.zeros((4, 4))
    hurry[0, [2, 3]] = 0.85, 0.15
    glide[0, [1, 2]] = 0.5, 0.5
    hurry[1, [2, 3]] = 0.9, 0.1
    glide[1, 0] = 1
    hurry[2, 2] = hurry[3, 3] = 1
    energy = np.array([[3, 1], [2, 1], [0, 0], [0, 0]])
    labels = {"windy": [1], "delivered": np.array([False, False, True, False]), "crashed": 3}
    dense = ap.Model([hurry, glide], {"energy": energy}, labels=labels)
    assert dense.checksum == drone.checksum
    assert ap.Model(np.stack([hurry, glide]), {"energy": energy}, labels=labels).checksum == drone.checksum
    choices, rows, targets, probabilities = drone.arrays()
    one = np.zeros((6, 4))
    for choice in range(6):
        span = slice(rows[choice], rows[choice + 1])
        one[choice, targets[span]] = probabilities[span]
    by_row = ap.Model(one, {"energy": [3, 1, 2, 1, 0, 0]}, choices=choices, labels=labels)
    assert by_row.checksum == drone.checksum
    # Rewards of transitions that are a choice's are the same, too.
    earned = [np.repeat(energy[:, [action]], 4, axis=1) for action in range(2)]
    assert ap.Model([hurry, glide], {"energy": earned}, labels=labels).checksum == drone.checksum


def test_sparse_matrices(drone: ap.Model) -> None:
    import scipy.sparse

    choices, rows, targets, probabilities = drone.arrays()
    matrix = scipy.sparse.csr_matrix((probabilities, targets, rows), shape=(6, 4))
    labels = drone.labels
    model = ap.Model(matrix, {"energy": [3.0, 1, 2, 1, 0, 0]}, choices=choices, labels=labels)
    assert model.checksum == drone.checksum


def test_a_table_of_gymnasium_is_a_model() -> None:
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    model = ap.Model.from_gymnasium(env)
    assert (model.states, list(model.labels)) == (17, ["terminated"])
    direct = ap.Problem("FrozenLake-v1", discount=0.9, horizon=30)
    as_model = ap.Problem(model, discount=0.9, horizon=30)
    assert ap.maximize(as_model, "reward").value == pytest.approx(ap.maximize(direct, "reward").value, abs=1e-9)


def test_mistakes(drone: ap.Model, tmp_path: Path) -> None:
    with pytest.raises(ap.ProblemError, match='there is no label "delivred" in the model; did you mean "delivered"'):
        ap.Problem(drone.measuring(reach=["delivred"]), discount=1)
    with pytest.raises(ap.ProblemError, match="expected as many, or choices"):
        ap.Model(np.ones((3, 2)) / 2)
    with pytest.raises(ap.ProblemError, match="has the shape"):
        ap.Model([np.eye(2)], {"cost": [1, 2, 3]})
    with pytest.raises(ap.AppropoError, match="add up to 0.5"):
        ap.Model([np.eye(2) / 2])
    with pytest.raises(ap.ProblemError, match="no such file"):
        ap.Model.read(tmp_path / "none.drn")
    (tmp_path / "short.drn").write_text(DRN[:150])
    with pytest.raises(ap.ProblemError, match=r"short.drn, line \d+"):
        ap.Model.read(tmp_path / "short.drn")


def test_what_storm_builds_needs_storm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stormpy", None)
    with pytest.raises(ModuleNotFoundError, match=r"stormpy is missing; install appropo\[storm\]"):
        ap.Model.from_prism(tmp_path / "coin.nm")
