"""What is shown of a result."""

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
            "50 fresh episodes at level 0.95: the confidence region violates a constraint; 20",
        ),
        ({"callback": lambda line: False}, "<Result: undecided"),
    ],
)
def test_a_result_says_why_nothing_was_decided(settings, why):
    result = ap.solve(rover(), **settings)
    assert result.verdict == "undecided" and why in str(result) and why in result._repr_html_().replace("&lt;", "<")


def test_the_reason_says_why_the_search_ended(tmp_path):
    assert ap.solve(rover(), rounds=1).reason == "1 round used up"
    assert ap.solve(rover(), oracle="ppo", samples=2000).reason.endswith("samples used up")
    kept = ap.solve(rover(), run=tmp_path / "run")
    assert kept.reason == ap.load(tmp_path / "run").reason == "what was asked for was found"


def test_a_run_that_was_broken_off_says_where(tmp_path):
    def breaks(line):
        raise KeyError(line["round"])

    with pytest.raises(KeyError):
        ap.solve(rover(), run=tmp_path / "run", callback=breaks)
    assert str(ap.load(tmp_path / "run")).splitlines()[-2] == "the callback failed"


def test_what_is_not_here_is_unknown(tmp_path):
    """Whether a constraint holds can't be said without its set."""
    line = ap.Custom(lambda x: x.clip(max=5.0), dim=1)
    limits = [ap.measure("cost").within(line), ap.measure("steps") <= 10]
    result = ap.solve(walk(constraints=limits), samples=500, rounds=1, run=tmp_path / "run")
    kept = ap.load(tmp_path / "run")
    rows = [row.split("  ") for row in str(kept).splitlines()]
    assert rows[1][0] == "cost" and rows[1][-2:] == ["unknown", "unknown"]
    assert rows[2][0] == "steps" and rows[2][-1] == "holds"
    assert [row["holds"] for row in kept.constraints] == [None, True] and np.isnan(kept.constraints[0]["distance"])
    assert [row["holds"] for row in result.constraints] == [True, True]
    assert "unknown" in kept._repr_html_()


def test_a_claim_is_computed_again_without_files():
    lines = ap.solve(rover()).verify().splitlines()
    assert lines[0] == "claim   safety: failure at most 0.2"
    assert lines[-1] == "verified: feasible: the mixed policy satisfies every constraint"
    assert any(line.startswith("ok      the measurements of the mixture") for line in lines)


def test_tables_are_distilled_exactly(tmp_path):
    mixed = ap.solve(rover())
    one = mixed.distil()
    assert len(mixed.policy) == 3 and len(one.policy) == 1
    for name, value in mixed.measurements.items():
        np.testing.assert_allclose(one.measurements[name], value, atol=1e-9)
    assert (one.verdict, one.samples, one.oracle_calls, one.folder) == ("feasible", 0, 0, None)
    assert "verified: feasible" in one.verify()
    folder = one.save(tmp_path / "one")
    kept = ap.load(folder)
    assert kept.measurements["failure"] == one.measurements["failure"]
    assert "verified: feasible" in kept.verify()
    assert len(kept.distil().policy) == 1


def test_a_network_is_distilled_from_episodes(tmp_path):
    mixed = ap.solve(rover())
    learnt = {"net_arch": [16], "samples": 4000, "seed": 3, "n_epochs": 4}
    one, again = mixed.distil(**learnt), mixed.distil(**learnt)
    assert one.samples >= 4000 and one.evaluation is not None
    assert one.measurements["failure"] == again.measurements["failure"] != mixed.measurements["failure"]
    assert one.export(tmp_path / "one.onnx").is_file() and (tmp_path / "one.onnx").is_file()
    kept = ap.load(one.save(tmp_path / "one"))
    assert f"verified: {one.verdict}" in kept.verify()


def test_an_environment_of_python_is_distilled_in():
    mixed = ap.solve(walk(constraints=[ap.measure("steps") >= 1]), oracle="ppo", samples=500)
    one = mixed.distil(samples=300, n_epochs=2)
    assert len(one.policy) == 1 and one.samples >= 300 and one.verdict == "feasible"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"policy": "tree"}, "policy"),
        ({"net_arch": [0]}, "net_arch"),
        ({"n_epoch": 3}, 'did you mean "n_epochs"'),
        ({"samples": 0}, "samples is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"learning_rate": 0}, "learning_rate"),
    ],
)
def test_what_can_not_be_distilled_is_named(given, says):
    with pytest.raises(ap.ProblemError, match=says):
        ap.solve(rover()).distil(**given)
