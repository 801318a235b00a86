"""Every built-in problem with every oracle that fits: from solving to the report, and to one policy for its mixture."""

import json

import pytest

from tests.program import ENDED, NETWORKS, OBJECTIVES, PAIRS, PROBLEMS, SMALL, appropo


def test_the_problems_are_those_that_the_program_lists():
    listed = appropo("list").split("\n\n")[0].splitlines()[1:]
    assert sorted(line.split()[0] for line in listed) == PROBLEMS


@pytest.mark.parametrize(("problem", "oracle"), PAIRS)
def test_a_run_from_its_beginning_to_its_report(problem, oracle, tmp_path):
    whole_life(("solve", problem), oracle, tmp_path)


@pytest.mark.parametrize(("command", "problem", "measure", "oracle"), OBJECTIVES)
def test_a_run_of_an_objective_from_its_beginning_to_its_report(command, problem, measure, oracle, tmp_path):
    result = whole_life((command, problem, "--measure", measure), oracle, tmp_path)
    objective = result["objective"]
    assert (objective["goal"], objective["measure"]) == (command, measure)
    if oracle == "exact":
        assert objective["interval"] is None and abs(objective["bound"] - objective["value"]) < 1e-5
    elif objective["value"] is not None:
        assert objective["bound"] is None and objective["interval"][0] < objective["interval"][1]


def whole_life(command, oracle, tmp_path):
    problem, run = command[1], tmp_path / "run"
    chosen = ("--oracle", oracle, "--samples", 1500, *SMALL.get(oracle, ()))
    solved = appropo(*command, *chosen, "--run", run, "--quiet", "--json", expected=ENDED)
    result = json.loads(solved)
    status = ENDED[("feasible", "infeasible", "undecided").index(result["verdict"])]
    again = json.loads(appropo("resume", run, "--json", expected=[status]))
    # The time it took is not kept with the result.
    assert {**again, "seconds": None} == {**result, "seconds": None}
    assert f"verified: {result['verdict']}" in appropo("verify", run)
    evaluated = json.loads(appropo("evaluate", run, "--episodes", 50, "--json"))
    assert {line["measure"].split("[")[0] for line in evaluated["measurements"]} == set(result["measurements"])
    assert "after" in appropo("play", run)
    onnx = tmp_path / "policy.onnx"
    appropo("export", run, "--onnx", onnx, expected=[0 if oracle in NETWORKS else 2])
    assert bool(list(tmp_path.glob("*.onnx"))) == (oracle in NETWORKS)
    page = tmp_path / "page.html"
    appropo("report", run, "--out", page)
    assert problem in page.read_text(encoding="utf-8")
    distilled(run, tmp_path)
    return result


def distilled(run, tmp_path):
    """One policy for the mixture is a run like any other."""
    one = tmp_path / "one"
    result = json.loads(appropo("distil", run, "--out", one, "--samples", 1500, "--json", expected=ENDED))
    assert result["policies"] == 1
    status = ENDED[("feasible", "infeasible", "undecided").index(result["verdict"])]
    again = json.loads(appropo("resume", one, "--json", expected=[status]))
    assert {**again, "seconds": None} == {**result, "seconds": None}
    assert f"verified: {result['verdict']}" in appropo("verify", one)
    appropo("evaluate", one, "--episodes", 50)
    assert "after" in appropo("play", one)
    appropo("export", one, "--onnx", tmp_path / "one.onnx", expected=[0 if result["samples"] else 2])
    appropo("report", one, "--out", tmp_path / "one.html")
