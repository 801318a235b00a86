"""Models and answers of Storm, through stormpy."""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import stormpy
import stormpy.examples.files
import stormpy.io

#: The models that stormpy brings.
SHIPPED = Path(stormpy.examples.files.__file__).parent / "files" / "mdp"


class Answer(NamedTuple):
    value: float | None
    seconds: float
    #: Why there is no value.
    reason: str = ""


def build(source: Path, constants: dict[str, str]) -> Any:
    """The model of a file in PRISM's language, with other constants than those it states."""
    text = source.read_text()
    for name, value in constants.items():
        stated = re.compile(rf"const\s+(int|double)\s+{re.escape(name)}\s*(=[^;]*)?;")
        text, count = stated.subn(lambda found, n=name, v=value: f"const {found[1]} {n} = {v};", text)
        if count != 1:
            raise ValueError(f"{source}: the constant {name} is stated {count} times; expected once")
    with tempfile.NamedTemporaryFile("w", suffix=".nm") as file:
        file.write(text)
        file.flush()
        program = stormpy.io.parse_prism_program(file.name)
    options = stormpy.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    return stormpy.build_model(program, options=options)


def export(model: Any, path: Path) -> None:
    stormpy.io.export_to_drn(model, str(path))


def ask(model: Any, formula: str, limit: float) -> Answer:
    """What Storm says, soundly and to 1e-6, within so many seconds. A process of its own can be ended."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_ask, args=(model, formula, there))
    process.start()
    there.close()
    try:
        answer = here.recv() if here.poll(limit) else Answer(None, limit, f"over {limit:g} s")
    except EOFError:
        answer = Answer(None, 0.0, "Storm's process ended")
    process.kill()
    process.join()
    return answer


def _ask(model: Any, formula: str, there: Any) -> None:
    # Its warnings would stand in the table.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    environment = stormpy.Environment()
    environment.solver().force_soundness = True
    environment.solver().min_max().precision = stormpy.Rational("1/1000000")
    environment.modelchecker().multi().precision = stormpy.Rational("1/1000000")
    started = time.perf_counter()
    try:
        asked = stormpy.parse_properties(formula)[0]
        found = stormpy.model_checking(model, asked, only_initial_states=True, environment=environment)
        value = float(found.get_value(model.initial_states[0]))
        answer = Answer(value, time.perf_counter() - started, "" if math.isfinite(value) else "infinite")
    except Exception as error:
        answer = Answer(None, time.perf_counter() - started, str(error).split(":")[0][:60])
    there.send(answer)
