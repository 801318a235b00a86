"""CONTRIBUTING.md's worked examples: a set, a player, a learner, a world and a method are added to a copy of the sources,
as it says, and solve problems there."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTS = {"set": "ENTRIES", "player": "ENTRIES", "rl": "LEARNERS", "env": "ENTRIES", "method": "ENTRIES"}
COIN = """
discount = 1.0

[environment]
name = "coin"
bias = 0.6

[[constraint]]
measure = ["heads", "steps"]
even = true
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "appropo"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("target", ".git", "fuzz"))
        for path, code, then in examples():
            add(copy / "crates/appropo/src", path, code, then)
        target = ["--target-dir", str(ROOT / "target/worked-examples")]
        cargo = ["cargo", "run", "--package", "appropo-cli", *target, "--"]
        problem = Path(folder) / "coin.toml"
        problem.write_text(COIN)
        for arguments in (
            [problem, "--oracle", "exact", "--player", "fading", "--set", "fading.decay=0.8"],
            ["mars-rover", "--oracle", "random-search", "--samples", "20000"],
            ["mars-rover", "--method", "random"],
        ):
            command = [*cargo, "solve", *map(str, arguments)]
            done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
            print("solve", *(Path(argument).name for argument in arguments))
            print(done.stdout)
            if done.returncode not in (0, 3, 4) or "warning" in done.stderr:
                sys.exit(done.stderr)


def examples():
    """Path, code and what is said of the list of each."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    steps = re.compile(r"1\. `(\S+\.rs)`.*?```rust\n(.*?)```\n\n2\. (.*?)\n3\. ", re.S)
    found = [(path, re.sub("^   ", "", code, flags=re.M), then) for path, code, then in steps.findall(text)]
    if len(found) != len(LISTS):
        sys.exit(f"CONTRIBUTING.md has {len(found)} worked examples; expected {len(LISTS)}")
    return found


def add(source, path, code, then):
    """A file, its module, and its entry in the list."""
    (source / path).write_text(code)
    kind = path.split("/")[0]
    module = source / kind / "mod.rs"
    text = module.read_text()
    *lines, entry = re.findall("`([^`]+)`", then)[1:-1]
    text = re.sub(r"^((pub )?mod )", "\n".join([*lines, r"\1"]), text, count=1, flags=re.M)
    listed = rf"({LISTS[kind]}: \[[^;]*; )(\d+)(\] =\s*\[)"
    longer = lambda found: f"{found[1]}{int(found[2]) + 1}{found[3]}{entry}, "
    text, count = re.subn(listed, longer, text)
    if count != 1:
        sys.exit(f"{module} has no list {LISTS[kind]}")
    module.write_text(text)


if __name__ == "__main__":
    main()
