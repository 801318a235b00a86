"""The sources of the site: the book, the notebooks as pages with their outputs, and a page for each module of Python's.

Usage: site/source.py FOLDER, with the package and nbclient (target/venv).
"""

import base64
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "crates/appropo-py/python/appropo"
# Modules that users import from: those in the menu.
MODULES = re.findall(r"reference/python/(\w+)\.md", (ROOT / "site/mkdocs.yml").read_text(encoding="utf-8"))
CRATES = {
    "appropo": "the mathematics and the algorithms",
    "appropo_file": "problem files and models",
    "appropo_run": "runs on disk",
}


def page(text):
    """A page of the book as the site has it: files have their names above them, and links stay inside."""
    text = re.sub(r"<!-- file: (\S+) -->\n```(\w+)\n", r'```\2 title="\1"\n', text)
    text = text.replace("```python no-run\n", "```python\n").replace("```pseudocode\n", "```text\n")
    text = re.sub(r"\]\(((?:python/)?notebooks)\)", r"](\1/README.md)", text)
    text = re.sub(r"\]\(\.\./(CONTRIBUTING|CHANGELOG)\.md", r"](\1.md", text).replace("](docs/", "](")
    return text


def book(to):
    for path in sorted((ROOT / "docs").rglob("*")):
        place = to / path.relative_to(ROOT / "docs")
        if path.suffix == ".md":
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
        elif path.suffix in (".svg", ".png"):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        (to / name).write_text(page((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copy(ROOT / "site/site.css", to / "site.css")


def notebooks(to):
    """Runs every notebook and writes it as a page."""
    lines = ["# Notebooks", "", "Each was run for this page, from top to bottom.", ""]
    for path in sorted((ROOT / "docs/python/notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(
                notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
            ).execute()
        text = "\n\n".join(cell_text(cell, to, f"{path.stem}-{number}") for number, cell in enumerate(notebook.cells))
        title = re.search(r"(?m)^# (.+)$", text)
        assert title, f"{path}: a notebook begins with a title"
        source = f"[This notebook]({path.name}){{ download }} as a file."
        shutil.copy(path, to / path.name)
        (to / f"{path.stem}.md").write_text(f"{page(text)}\n\n{source}\n", encoding="utf-8")
        lines.append(f"- [{title[1]}]({path.stem}.md)")
    (to / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def cell_text(cell, to, name):
    if cell.cell_type == "markdown":
        return cell.source
    parts = [f"```python\n{cell.source}\n```"]
    for number, output in enumerate(cell.get("outputs", [])):
        # Progress, and what kernels say of themselves.
        if output.get("name") == "stderr":
            continue
        data = output.get("data", {})
        # The picture that follows a run has done its work when the run ends, and has no text.
        if data.get("text/plain") == "<IPython.core.display.HTML object>":
            continue
        if "image/png" in data:
            picture = to / f"{name}-{number}.png"
            picture.write_bytes(base64.b64decode(data["image/png"]))
            parts.append(f"![What the code above draws]({picture.name})")
        elif text := output.get("text") or data.get("text/plain"):
            parts.append("```text\n" + text.rstrip("\n") + "\n```")
    return "\n\n".join(parts)


def reference(to):
    rust = [f"- [`{name}`](rust/{name}/index.html): {about}" for name, about in CRATES.items()]
    python = []
    (to / "python").mkdir(parents=True)
    for name in MODULES:
        first = re.match(r'"""(.+?)(?:"""|\n)', (PACKAGE / f"{name}.py").read_text(encoding="utf-8"))
        assert first, f"{name}.py: a module begins with what it holds"
        python.append(f"- [`appropo.{name}`](python/{name}.md): {first[1]}")
        (to / f"python/{name}.md").write_text(f"# appropo.{name}\n\n::: appropo.{name}\n", encoding="utf-8")
    text = [
        "# API reference",
        "",
        "## Rust",
        "",
        *rust,
        "",
        "## Python",
        "",
        "Everything is imported from `appropo` itself:",
        "",
    ]
    (to / "README.md").write_text("\n".join([*text, *python]) + "\n", encoding="utf-8")


def main():
    to = Path(sys.argv[1])
    shutil.rmtree(to, ignore_errors=True)
    book(to)
    (to / "python/notebooks").mkdir(parents=True, exist_ok=True)
    notebooks(to / "python/notebooks")
    reference(to / "reference")


if __name__ == "__main__":
    main()
