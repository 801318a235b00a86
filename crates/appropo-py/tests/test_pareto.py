"""Pareto fronts, prices and the nearest that can be had."""

from pathlib import Path

import appropo as ap
import numpy as np
import pytest


def test_a_front_is_what_the_library_finds(tmp_path: Path) -> None:
    front = ap.pareto("mars-rover", maximize=["reward"], minimize=["failure"], epsilon=1e-3)
    assert front.verdict == "feasible" and front.gap <= 1e-3
    assert front.measures == {"reward": "maximize", "failure": "minimize"}
    assert front.vertices[-1] == pytest.approx([-0.1110052, 0.2], abs=1e-6)
    assert front.vertices[0] == pytest.approx([-0.17, 0.0224397], abs=1e-6)
    # No vertex leaves a face, and every corner is on the better side of some vertex.
    assert (front.vertices @ front.weights.T <= front.bounds + 1e-9).all()
    assert front.units["reward"] == pytest.approx(np.ptp(front.vertices[:, 0]))
    assert front.measurements(0)["failure"] == front.vertices[0, 1]
    assert front.policy(0).weights.sum() == pytest.approx(1.0)
    assert "verified" in front.verify()
    folder = front.save(tmp_path / "front")
    assert (folder / "front.csv").read_text() == front.csv(tmp_path / "front.csv").read_text()
    assert "appropo" in front.report(tmp_path / "front.html").read_text()[:200]
    with pytest.raises(ap.ProblemError, match="below"):
        front.policy(99)


def test_what_is_no_front_is_refused() -> None:
    with pytest.raises(ap.ProblemError, match="expected 2 to 6"):
        ap.pareto("mars-rover", maximize="reward")
    with pytest.raises(ap.ProblemError, match='did you mean "reward"'):
        ap.pareto("mars-rover", maximize=["rewrd"], minimize=["failure"])
    with pytest.raises(ap.ProblemError, match="names of measures"):
        ap.pareto("mars-rover", maximize=[3], minimize=["failure"])  # type: ignore[list-item]


def test_prices_and_the_nearest() -> None:
    result = ap.maximize("mars-rover", "reward")
    assert result.prices == {"safety": pytest.approx(0.0919051, abs=1e-6), "speed": 0.0}
    assert result.nearest is None
    assert "price of safety: one more failure allowed is worth" in str(result)
    infeasible = ap.solve("mars-rover-infeasible")
    assert infeasible.nearest is not None and infeasible.prices == {}
    assert infeasible.nearest["failure"] == pytest.approx(0.02378182, abs=1e-6)
    assert "the nearest that can be had: failure" in str(infeasible)
