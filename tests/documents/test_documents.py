"""What README.md and docs/ show is what happens: commands, their output and exit status, problem files and code.

One temporary folder a page: what a command leaves is there for the next. `pytest tests/documents --update` writes the
outputs anew; read the difference. CONTRIBUTING.md says what a page can tell of its blocks.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.documents import pages
from tests.program import PROGRAM, TARGET

# Commands that are not run here, by how they begin, and why not.
NOT_RUN = {
    "make test": "that is where we are",
    "pip install": "changes what is installed; the package that the tests use is built from the same files",
    "appropo watch": "serves until it is ended; tests/browser/test_watch.py does",
    "touch": "speaks to a run that goes on",
    "appropo reproduce  ": "takes minutes; with --quick it is run",
}
LANGUAGES = {"sh", "text", "toml", "drn", "python", "python no-run", "rust", "pseudocode"}
# What may be a file of its page.
FILES = ("toml", "drn")
MINIMAL = '[environment]\nname = "mars-rover"\n'
FROM_SOURCE = "cargo run --release -- "

each_page = pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)


def blocks(*languages):
    """All blocks of these languages with their pages, one test each."""
    found = [(page, block) for page in pages.PAGES for block in pages.blocks(page) if block.language in languages]
    names = [f"{pages.name(page)}:{block.line}" for page, block in found]
    return pytest.mark.parametrize(("page", "block"), found, ids=names)


def as_installed(command):
    return command.replace(FROM_SOURCE, "appropo ").replace(FROM_SOURCE.strip(), "appropo")


def is_not_run(command):
    return any(f"{command}  ".startswith(start) for start in NOT_RUN)


def run(command):
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    shell = ["bash", "-c", command]
    return subprocess.run(shell, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)


@each_page
def test_every_block_says_what_it_is(page):
    for block in pages.blocks(page):
        where = f"{pages.name(page)}:{block.line}"
        assert block.language in LANGUAGES, f"{where}: the block is {block.language!r}, not one of {sorted(LANGUAGES)}"
        assert block.language != "text", (
            f"{where}: shows an output, but no sh, python or rust block stands right before it"
        )


def test_every_page_is_in_the_sites_menu():
    menu = (pages.ROOT / "site/mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"(?m)^ *- (?:[^:\n]+: )?(\S+\.md)$", menu))
    docs = pages.ROOT / "docs"
    book = {str(page.relative_to(docs)) for page in pages.PAGES if page.is_relative_to(docs)}
    assert book <= named, f"site/mkdocs.yml: nav lacks {sorted(book - named)}"


@each_page
def test_a_page_does_what_it_shows(page, tmp_path, monkeypatch, update):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in pages.blocks(page):
        if block.language in FILES and "file" in block.notes:
            Path(block.notes["file"]).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            run_commands(page, block, update)
        elif block.language == "python":
            # The page's own line numbers, so that tracebacks are right.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(code, names)
            pages.compare(page, block, printed.getvalue(), "the block of Python", update)


def run_commands(page, block, update):
    commands = list(pages.commands(block))
    statuses = [int(status) for status in re.findall(r"\d+", block.notes.get("exit", "0"))]
    statuses *= len(commands) if len(statuses) == 1 else 1
    for (line, command), status in zip(commands, statuses, strict=True):
        if is_not_run(as_installed(command)):
            continue
        done = run(as_installed(command))
        said = f"exit status {done.returncode}, expected {status}\n--- printed\n{done.stdout}{done.stderr}"
        assert done.returncode == status, f"{pages.name(page)}:{line}: {command}\n{said}"
        if line == commands[-1][0]:
            # Mistakes are told on standard error, and only there.
            pages.compare(page, block, done.stdout or done.stderr, command, update)


def test_what_is_not_run_is_still_there():
    shell = [block for page in pages.PAGES for block in pages.blocks(page) if block.language == "sh"]
    commands = [as_installed(command) + "  " for block in shell for _, command in pages.commands(block)]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in commands), f"no page has {start!r}: take it out of NOT_RUN"


@blocks("toml")
def test_problem_files_are_well_stated(page, block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables = tomllib.loads(block.text)
    if "fragment" in block.notes:
        return
    problem = block.text
    if "environment" not in tables:
        # Tables of a problem are completed by a world, and by a discount that must stand before them.
        problem = f"{block.text}\n{MINIMAL}" if "discount" in tables else f"discount = 0.99\n{MINIMAL}\n{block.text}"
    # A model that the problem names is a file of the page, or the page's code writes it before its commands read it.
    for other in pages.blocks(page):
        if other.language == "drn" and "file" in other.notes:
            Path(other.notes["file"]).write_text(other.text, encoding="utf-8")
    model = tables.get("environment", {}).get("model")
    if model and not Path(model).exists():
        assert is_solved_by_its_page(page, block, model), (
            f"{pages.name(page)}:{block.line}: nothing here writes {model}"
        )
        return
    Path("problem.toml").write_text(problem, encoding="utf-8")
    done = run("appropo check problem.toml")
    status = int(block.notes.get("exit", "0"))
    where = f"{pages.name(page)}:{block.line}: appropo check of\n{problem}"
    assert done.returncode == status, (
        f"{where}\nexit status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}"
    )


def is_solved_by_its_page(page, block, model):
    """Whether Python before a problem writes its model, and a command behind it reads the problem."""
    all_blocks, file = pages.blocks(page), block.notes.get("file")
    before = "".join(other.text for other in all_blocks[: block.place] if other.language == "python")
    behind = "".join(other.text for other in all_blocks[block.place :] if other.language == "sh")
    return file is not None and f'write("{model}")' in before and file in behind


@blocks("rust")
def test_rust_compiles_and_runs(page, block, tmp_path, update):
    start, end = "", ""
    if "fn main()" not in block.text:
        start, end = "fn main() -> Result<(), Box<dyn std::error::Error>> {", "Ok(()) }"
    # The page's own line numbers, so that the compiler's are right.
    before = f"{start} {block.notes.get('before', '')}".replace("\n", " ")
    source = tmp_path / f"{page.stem}.md.rs"
    source.write_text(before + "\n" * (block.line - 1) + block.text + end, encoding="utf-8")
    libraries, program = TARGET / "debug/deps", tmp_path / "program"
    newest = max(libraries.glob("libappropo-*.rlib"), key=os.path.getmtime)
    rustc = [
        "rustc",
        "--crate-name=document",
        "--edition=2024",
        "--extern",
        f"appropo={newest}",
        "-L",
        f"dependency={libraries}",
    ]
    for command in ([*rustc, "-Awarnings", "-o", program, source], [program]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        where = f"{pages.name(page)}:{block.line}: {os.path.basename(command[0])} of\n{block.text}"
        assert done.returncode == 0, f"{where}\nexit status {done.returncode}\n{done.stdout}{done.stderr}"
    pages.compare(page, block, done.stdout, "the block of Rust", update)


def options(*command):
    """The subcommands and options that the program's help names."""
    text = run(shlex.join(["appropo", *command, "--help"])).stdout
    return set(re.findall(r"(?m)^\s+(?:-\w, )?(--[\w-]+)", text)), set(re.findall(r"(?m)^  (\w+)  ", text))


@each_page
def test_commands_in_the_prose_exist(page):
    own, subcommands = options()
    known = {subcommand: options(subcommand)[0] for subcommand in subcommands}
    for number, line in pages.prose(page):
        for command in re.findall(r"`([^`]+)`", line):
            where = f"{pages.name(page)}:{number}: `{command}`"
            first, *rest = as_installed(command).split()
            if first == "appropo" and rest:
                first, *rest = rest
                if first in own and not rest:
                    continue
                assert first in known, f"{where}: there is no subcommand {first}; there are {sorted(known)}"
            stated = [word.partition("=")[0] for word in (first, *rest) if word.startswith("--")]
            # An option by itself is one of any subcommand; behind something else, it is not ours.
            there = known.get(first, set().union(*known.values()) if first in stated else stated)
            for option in stated:
                assert option in there, f"{where}: there is no {option}; there are {sorted(there)}"
