"""Logs: recorded, read, made of arrays and of Minari's, and learnt from."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import appropo as ap
import numpy as np
import pytest

LAKE = ap.BuiltIn("frozen-lake", {"slippery": False})
SAFE = ap.measure("failure") <= 0.1


def arrays(**changes):
    given = dict(
        observations=np.array([0, 1, 0]),
        actions=np.array([1, 0, 1]),
        measures={"cost": np.array([0.0, 1.0, 0.5]), "visits": np.eye(3)},
        next_observations=np.array([1, 2, 1]),
        terminated=np.array([False, True, False]),
        truncated=np.array([False, False, True]),
    )
    return ap.Dataset.from_arrays(**{**given, **changes})


def test_arrays():
    log = arrays()
    assert (log.episodes, log.steps, log.measures) == (2, 3, {"cost": 1, "visits": 3})
    mean = log.mean(discount=0.5)
    assert mean["cost"] == 0.5 and mean["visits"].tolist() == [0.5, 0.25, 0.5]
    numbers = arrays(observations=np.zeros((3, 2)), next_observations=np.zeros((3, 2)))
    assert numbers.checksum != log.checksum
    for said, changes in [
        ("never ends", {"truncated": np.array([False, False, False])}),
        ("actions has 2 rows; expected 3", {"actions": np.array([1, 0])}),
        ("row 1 of observations is", {"next_observations": np.array([2, 2, 1])}),
        ('the measure "cost" is NaN', {"measures": {"cost": np.array([0.0, np.nan, 0.5])}}),
        ("the action is 1; expected 0", {"action_size": 1}),
    ]:
        with pytest.raises(ap.ProblemError, match=said.replace("[", r"\[")):
            arrays(**changes)


def test_recorded_and_learnt_from(tmp_path: Path):
    lake = ap.Problem(LAKE, [SAFE], discount=0.9)
    log = ap.record(lake, episodes=300, seed=1)
    assert log.checksum == ap.record(lake, episodes=300, seed=1).checksum
    with pytest.raises(ap.ProblemError, match="write it first"):
        ap.solve(lake, method=ap.Batch(dataset=log))
    log.write(tmp_path / "log.parquet")
    with pytest.raises(ap.RunError, match="is there already"):
        log.write(tmp_path / "log.parquet")
    with pytest.raises(ap.ProblemError, match=r"ends in \.csv or \.parquet"):
        log.write(tmp_path / "log.txt")
    judged = ap.maximize(lake, "reward", method=ap.Batch(dataset=log, resamples=20))
    assert judged.verdict == "feasible"
    assert judged.measurements["reward"] == pytest.approx(0.9**5)
    assert judged.logged["lower"]["reward"] <= 0.9**5 + 1e-9 and len(judged.logged["assumptions"]) == 5
    assert ap.solve(lake).logged is None
    again = ap.record(lake, judged, episodes=5, epsilon=0.0)
    assert again.mean(discount=0.9)["reward"] == pytest.approx(0.9**5)

    read = ap.Dataset.read(tmp_path / "log.parquet", observations=16)
    for held, name in [(read, "file"), (log, "memory")]:
        problem = ap.Problem(held, [SAFE], discount=0.9)
        with pytest.raises(ap.ProblemError, match="nobody can play"):
            ap.solve(problem)
        found = ap.maximize(problem, "reward", method=ap.Batch(resamples=20), run=tmp_path / name)
        assert (found.verdict, found.confidence) == ("undecided", None)
        assert "by logged data alone" in found._outcome.sentence and "logged episodes" in str(found)
        assert "can't be checked from logs" in found.verify()
        loaded = ap.load(tmp_path / name, problem)
        assert loaded.logged["checksum"] == log.checksum
        with pytest.raises(ap.AppropoError, match="nobody can play"):
            found.evaluate()


def test_minari(monkeypatch: pytest.MonkeyPatch):
    gymnasium = pytest.importorskip("gymnasium")
    episode = types.SimpleNamespace(
        observations=np.array([0, 1, 2]),
        actions=np.array([1, 0]),
        rewards=np.array([0.5, 1.0]),
        terminations=np.array([False, True]),
        truncations=np.array([False, False]),
        infos={"cost": np.array([9.0, 0.25, 0.75])},
    )
    dataset = types.SimpleNamespace(
        observation_space=gymnasium.spaces.Discrete(3),
        action_space=gymnasium.spaces.Discrete(2),
        iterate_episodes=lambda: iter([episode]),
    )
    minari = types.ModuleType("minari")
    minari.load_dataset = {"lake/random-v0": dataset}.__getitem__
    monkeypatch.setitem(sys.modules, "minari", minari)
    log = ap.Dataset.from_minari("lake/random-v0", measure={"cost": "cost"})
    assert (log.episodes, log.steps) == (1, 2)
    assert log.mean(discount=1.0) == {"reward": 1.5, "steps": 2.0, "cost": 1.0}
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(ModuleNotFoundError, match=r"install appropo\[minari\]"):
        ap.Dataset.from_minari(dataset)
