"""What is shown of a result."""

import json

import appropo as ap
import numpy as np
import pytest
from test_environments import walk

ROVER = [(ap.measure("failure") <= 0.2).named("safety"), ap.measure("reward") >= -0.17]


def rover(*constraints):
    return ap.Problem("mars-rover", constraints or ROVER, discount=0.99)


def test_a_result_is_printed_as_a_table():
    result = ap.solve(rover())
    assert str(result).splitlines() == [
        "constraint  measure  value  required        slack",
        "safety      failure  0.2    at most 0.2     0      holds",
        "reward      reward   -0.17  at least -0.17  0      holds",
        repr(result),
    ]
    assert repr(result) == "<Result: feasible, distance 0; 3 rounds, 0 samples>"
    for cell in ["safety", "at least -0.17", "holds", "feasible, distance 0"]:
        assert cell in result._repr_html_()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"rounds": 1}, "1 round used up"),
        (
            {"oracle": "ppo", "samples": 2000},
            "1000 fresh episodes at level 0.95: the confidence region violates a constraint; 2000 samples used up",
        ),
        ({"callback": lambda line: False}, "<Result: undecided"),
    ],
)
def test_a_result_says_why_nothing_was_decided(settings, why):
    result = ap.solve(rover(), **settings)
    assert result.verdict == "undecided" and why in str(result) and why in result._repr_html_().replace("&lt;", "<")


def test_a_run_that_was_broken_off_says_where(tmp_path):
    def breaks(line):
        raise KeyError(line["round"])

    with pytest.raises(KeyError):
        ap.solve(rover(), run=tmp_path / "run", callback=breaks)
    assert str(ap.load(tmp_path / "run")).splitlines()[-2] == "the callback failed"


def test_what_is_not_here_is_unknown(tmp_path):
    """The words of a constraint stand in its problem, which can't be read without its set."""
    line = ap.Custom(lambda x: x.clip(max=5.0), dim=1)
    ap.solve(walk(constraints=[ap.measure("cost").within(line)]), samples=500, rounds=1, run=tmp_path / "run")
    assert "cost        unknown  unknown  unknown   unknown  holds" in str(ap.load(tmp_path / "run"))


def test_numbers_that_were_never_found(tmp_path):
    """A run that was broken off may have none, and JSON has no NaN."""
    file = ap.solve(rover(), run=tmp_path / "run").folder / "result.json"
    found = json.loads(file.read_text())
    file.write_text(json.dumps({**found, "distance": None, "z": [None] * len(found["z"])}))
    broken = ap.load(tmp_path / "run")
    assert np.isnan(broken.distance)
    assert str(broken).splitlines()[1] == "safety      unknown  unknown  unknown   unknown  holds"
