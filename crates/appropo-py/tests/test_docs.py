"""The pages' Python blocks run as they stand, one script a page."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/python").glob("*.md"))]


def script(page):
    """The blocks that run, each on its page's lines; those marked ``python no-run`` are left out."""
    kept, runs = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            runs, line = line == "```python", ""
        kept.append(line if runs else "")
    return "\n".join(kept)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(script(page), str(page), "exec"), {"__name__": "__main__"})
