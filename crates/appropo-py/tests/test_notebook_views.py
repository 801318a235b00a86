"""What notebooks show of runs, and runs that are stopped from outside."""

import os
import re
import threading
import time
from html import unescape

import appropo as ap
import nbformat
import pytest
from nbclient import NotebookClient

CELL = """
import time
import appropo as ap
result = ap.solve("mars-rover-diverse", callback=lambda line: time.sleep(0.2))
result.show(height=500)
"""


def test_a_notebook_shows_a_run_while_it_goes_on_and_its_report(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    shown = []

    class Client(NotebookClient):
        def process_message(self, message, cell, cell_index):
            if message["msg_type"] == "update_display_data":
                shown.append(message["content"]["data"]["text/html"])
            return super().process_message(message, cell, cell_index)

    Client(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert len(shown) >= 2 and "The run goes on" in shown[0] and "The run is over" in shown[-1]
    result = ap.solve("mars-rover-diverse")
    assert f"round {result.oracle_calls}" in shown[-1]
    assert f"{result.history['mixture/failure'][-1]:.6g}</td>" in shown[-1]
    assert "<polyline" in shown[-1] and "<script" not in "".join(shown)
    report = notebook.cells[0].outputs[-1]["data"]["text/html"]
    source = re.search(r'<iframe sandbox="allow-scripts" [^>]*srcdoc="([^"]*)"', report)[1]
    assert unescape(source).startswith("<!DOCTYPE html>") and '"verdict":"feasible"' in unescape(source)


def test_elsewhere_the_report_opens_in_a_browser(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    ap.solve("mars-rover").show()
    path = opened[0].removeprefix("file://")
    with open(path, encoding="utf-8") as file:
        page = file.read()
    assert page.startswith("<!DOCTYPE html>")
    # It said that the run had taken 0 ms.
    assert '"times":[]' in page
    os.remove(path)
    with pytest.raises(ap.ProblemError, match="height"):
        ap.solve("mars-rover").show(height=0)


def test_a_file_stops_a_run(tmp_path):
    folder = tmp_path / "run"

    def ask():
        while not (folder / "progress.json").exists():
            time.sleep(0.01)
        (folder / "stop").touch()

    asking = threading.Thread(target=ask)
    asking.start()
    result = ap.solve("mars-rover-diverse", player="ogd", rounds=10_000_000, tolerance=1e-12, run=folder)
    asking.join()
    assert result.stopped and result.verdict == "undecided"
    assert "stopped on request" in str(result)
    names = {path.name for path in folder.iterdir()}
    assert "result.json" in names and not names & {"stop", "progress.json"}
