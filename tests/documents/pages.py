"""What README.md, the Python package's and the pages under docs/ say: their blocks, and the commands in their prose."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "crates/appropo-py/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTE = re.compile(r"<!--\s*(exit|file|before|fragment)\b:?\s*(.*?)\s*-->\s*$", re.DOTALL)


def name(page):
    return str(page.relative_to(ROOT))


@dataclass
class Block:
    """A fenced block; `line` is that of its first line, counted from 1."""

    language: str
    text: str
    line: int
    # Its place among the page's blocks that are no output.
    place: int
    # What HTML comments directly before it say: <!-- exit: 3 -->, <!-- file: rover.toml -->, <!-- fragment -->, or
    # <!-- before: … --> with lines of Rust that the reader need not see.
    notes: dict = field(default_factory=dict)
    # The ```text block right behind it: what it prints.
    output: "Block | None" = None


def blocks(page):
    """The blocks of a page, each with the output that is shown for it."""
    found, opened, between = [], None, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if opened is None and line.startswith("```"):
            opened = Block(line[3:].strip(), "", number + 1, len(found), notes(between))
            follows = found and not "".join(between).strip() and not found[-1].output
        elif opened is None:
            between.append(line)
        elif line.startswith("```"):
            if opened.language == "text" and follows and found[-1].language in ("sh", "python", "rust"):
                found[-1].output = opened
            else:
                found.append(opened)
            opened, between = None, []
        else:
            opened.text += line + "\n"
    if opened:
        raise AssertionError(f"{name(page)}:{opened.line - 1}: the block has no end")
    return found


def notes(lines):
    """The notes in the comments at the end of some lines."""
    text, found = "\n".join(lines), {}
    while match := NOTE.search(text[text.rfind("<!--") :] if "<!--" in text else ""):
        found[match[1]] = match[2]
        text = text[: text.rfind("<!--")]
    return found


def prose(page):
    """The page's lines outside of blocks, with their numbers."""
    is_block = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            is_block = not is_block
        elif not is_block:
            yield number, line


def commands(block):
    """The commands of an ```sh block with their lines; a backslash at the end of a line goes on with the next."""
    line, command = block.line, ""
    for number, text in enumerate(block.text.splitlines(), block.line):
        if not command:
            line = number
        command += text.removesuffix("\\")
        if not text.endswith("\\"):
            if command.strip() and not command.startswith("#"):
                yield line, command
            command = ""


def written(page, block, output):
    """Writes what a block prints into its page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    # Outputs before this one may have grown since the page was read.
    shown = blocks(page)[block.place].output
    start = shown.line - 1
    lines[start : start + shown.text.count("\n")] = output.rstrip("\n").splitlines()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def filtered(text):
    """What does not depend on the machine: times and the page's folder are left out, and space at the ends of lines."""
    text = text.replace(os.getcwd(), "[folder]")
    text = re.sub(r"\b\d+(\.\d+)?(e-?\d+)? (s|ms|seconds|minutes)\b", "[time]", text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def is_shown(expected, found):
    """Whether an output is as shown; a line with nothing but … stands for any lines."""
    parts = re.split(r"(?m)^…$\n?", expected)
    pattern = r"(?:.*\n)*".join(map(re.escape, parts))
    return re.fullmatch(pattern, found) is not None or re.fullmatch(pattern, found + "\n") is not None


def compare(page, block, found, what, update):
    """Fails where a block prints something else than is shown behind it."""
    if block.output is None or is_shown(filtered(block.output.text), filtered(found)):
        return
    if update:
        return written(page, block, found)
    shown = f"--- expected\n{filtered(block.output.text)}\n--- found\n{filtered(found)}"
    raise AssertionError(f"{name(page)}:{block.output.line}: {what}\n{shown}")
