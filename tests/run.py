"""Everything that must hold, as `make test` runs it: builds one after the other, and beside them what builds nothing.

Each step's output is kept in target/tests. The first step that fails stops the others, and its output comes last.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
LOGS = TARGET / "tests"
STRICT = "-D warnings" if os.environ.get("CI") else ""
# Clippy compiles as the compiler does: what it lints is what the tests run, built once.
os.environ["RUSTC_WORKSPACE_WRAPPER"] = "clippy-driver"
if STRICT:
    os.environ["RUSTFLAGS"] = STRICT
    os.environ.setdefault("CARGO_INCREMENTAL", "0")


@dataclass
class Step:
    name: str
    command: str
    needs: list[str] = field(default_factory=list)
    process: subprocess.Popen | None = None
    started: float = 0.0


# They hold cargo's lock, so one goes after the other: first what others wait for.
BUILDS = [
    Step("formatter", "cargo fmt --all --check"),
    Step("build", "cargo build --workspace --lib --bins --examples"),
    Step("package", "crates/appropo-py/tests/run.sh build", ["environment"]),
    Step("benchmark", "cargo test --workspace --bench ratios --no-run"),
    Step("rust", f"RUSTDOC={ROOT}/tests/rustdoc.sh RUSTDOCFLAGS='{STRICT}' cargo test --workspace"),
]
BESIDE = [
    Step("environment", "tests/environment.sh"),
    Step("linter", "tests/lint.sh", ["environment"]),
    Step("workflows", "tests/workflows/run.sh", ["environment"]),
    Step("lifecycle", "tests/lifecycle/run.sh", ["build"]),
    Step("python", "crates/appropo-py/tests/run.sh test", ["package"]),
    Step("documents", "tests/documents/run.sh", ["build", "package"]),
    # The Rust tests write problems for the schema.
    Step("exports", "tests/python/run.sh", ["rust"]),
]


# It waits for pages more than it computes.
WAITING = [Step("browser", "tests/browser/run.sh", ["environment", "build"])]


def log(step):
    return LOGS / f"{step.name}.txt"


def start(step):
    step.started = time.monotonic()
    with log(step).open("wb") as output:
        # A session of its own, so that all of it can be stopped.
        step.process = subprocess.Popen(
            ["bash", "-c", step.command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def stop(step):
    if step.process and step.process.poll() is None:
        os.killpg(step.process.pid, signal.SIGTERM)
        step.process.wait()


def ended(step):
    """Says how a step ended; whether it did well."""
    seconds = time.monotonic() - step.started
    status = step.process.returncode
    print(f"{'ok' if status == 0 else 'FAILED':8}{step.name:14}{seconds:5.0f} s   {step.command}", flush=True)
    return status == 0


def run():
    """The first step that failed, if one did."""
    lanes, done = [list(BUILDS), list(BESIDE), list(WAITING)], set()
    while any(lanes):
        for lane in lanes:
            if not lane:
                continue
            step = lane[0]
            if step.process is None and done.issuperset(step.needs):
                start(step)
            if step.process and step.process.poll() is not None:
                lane.pop(0)
                done.add(step.name)
                if not ended(step):
                    return step
        time.sleep(0.1)
    return None


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    # Whoever is started in the background ignores Ctrl-C, which tests send.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begin = time.monotonic()
    try:
        failed = run()
    finally:
        for step in BUILDS + BESIDE + WAITING:
            stop(step)
    if failed:
        print(f"\n{log(failed).read_text(errors='replace')}\ntests: failed: {failed.command}")
        return 1
    print(f"tests: all passed in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
