"""Looks at the site as a reader would: site/check.py FOLDER.

Every link and every anchor leads somewhere; every page opens in Chromium without a complaint at the width of a phone
and of a desk, asks nothing of other servers, does not scroll sideways and breaks no word in a table; the search finds.
"""

import functools
import http.server
import re
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser.chromium import ARGUMENTS, CHROMIUM  # noqa: E402

WIDTHS = {"phone": {"width": 360, "height": 740}, "desk": {"width": 1280, "height": 900}}

# The words in cells of tables that are on more than one line. Hyphens and the like are where a line may end.
BROKEN_WORDS = r"""() => {
    const broken = new Set();
    for (const cell of document.querySelectorAll("article table:not([class]) :is(td, th)")) {
        const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        for (let text; (text = texts.nextNode()); ) {
            for (const word of text.data.matchAll(/[\p{L}\p{N}_]{2,}/gu)) {
                const range = document.createRange();
                range.setStart(text, word.index);
                range.setEnd(text, word.index + word[0].length);
                const lines = [...range.getClientRects()].filter((line) => line.width > 0);
                if (new Set(lines.map((line) => line.top)).size > 1) broken.add(word[0]);
            }
        }
    }
    return [...broken];
}"""


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.update(given[name] for name in ("id", "name") if given.get(name))
        for name in ("href", "src"):
            if given.get(name) and not (tag == "link" and "canonical" in given.get("rel", "")):
                self.links.append(given[name])


def broken(site):
    """Links between pages that lead nowhere; rustdoc checks those of its own pages."""
    parsed = functools.cache(lambda path: Links(path.read_text(encoding="utf-8", errors="replace")))
    for page in sorted(site.rglob("*.html")):
        if "rust" in page.relative_to(site).parts or page.name == "404.html":
            continue
        for link in parsed(page).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            to = to / "index.html" if to.is_dir() else to
            # What begins with __ is the theme's own, for the top of a page.
            place = "" if parts.fragment.startswith("__") or to.suffix != ".html" else unquote(parts.fragment)
            if not to.is_file():
                yield f"{page.relative_to(site)}: {link} leads nowhere"
            elif place and place not in parsed(to).ids:
                yield f"{page.relative_to(site)}: {link} has no such place"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def pages(site):
    """All of the book, and of the Rust reference the crates' first pages and a few more."""
    there = (page for page in sorted(site.rglob("*.html")) if page.name != "404.html")
    # Pages that only lead to others are left out.
    found = [
        page.relative_to(site) for page in there if b'http-equiv="refresh"' not in page.read_bytes()[:1000].lower()
    ]
    rust = [page for page in found if "rust" in page.parts]
    first = [page for page in rust if page.name == "index.html" and len(page.parts) == 5]
    return [page for page in found if "rust" not in page.parts] + first + rust[::200]


def is_complaint(message, url):
    """Errors anywhere, and warnings on pages of ours: rustdoc's preload fonts in a way that Chromium warns of."""
    return message.type == "error" or (message.type == "warning" and "/rust/" not in url)


def complaining(browser, viewport, own):
    """A page of a browser, and the list of what goes wrong on it."""
    page, wrong = browser.new_page(viewport=viewport), []
    page.on(
        "console",
        lambda message: wrong.append(f"console: {message.text}") if is_complaint(message, page.url) else None,
    )
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on(
        "request",
        lambda request: request.url.startswith((own, "data:", "blob:")) or wrong.append(f"asks {request.url}"),
    )
    page.on("response", lambda answer: answer.status < 400 or wrong.append(f"{answer.status}: {answer.url}"))
    return page, wrong


def opened(site):
    """What goes wrong when pages are opened."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    own = f"http://127.0.0.1:{server.server_address[1]}/"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for width, viewport in WIDTHS.items():
            page, wrong = complaining(browser, viewport, own)
            for path in pages(site):
                page.goto(own + path.as_posix(), wait_until="load")
                page.wait_for_timeout(30)
                widest = page.evaluate("document.documentElement.scrollWidth")
                if widest > viewport["width"] and "rust" not in path.parts:
                    wrong.append(f"is {widest} wide")
                wrong.extend(f"breaks the word {word} in a table" for word in page.evaluate(BROKEN_WORDS))
                yield from (f"{path} ({width}): {problem}" for problem in wrong)
                wrong.clear()
            yield from searched(page, own, site, width)
        browser.close()
    server.shutdown()


def searched(page, own, site, width):
    """The search is a worker that reads an index of the site's own."""
    version = next(p.name for p in sorted(site.iterdir(), reverse=True) if p.is_dir())
    page.goto(f"{own}{version}/index.html")
    if width == "phone":
        page.locator("label[for=__search]").first.click()
    page.locator("input.md-search__input").fill("waiting")
    try:
        page.locator(".md-search-result__link").first.wait_for(timeout=10_000)
    except Exception:
        yield f"search ({width}): finds nothing"
        return
    found = page.locator(".md-search-result__link").evaluate_all("all => all.map(link => link.getAttribute('href'))")
    if not any(re.search(r"gallery/queue", link) for link in found):
        yield f"search ({width}): finds {found}, not the queue"
    page.locator(".md-header__topic").first.wait_for()
    if page.locator(".md-version__current").count() != 1:
        yield f"version ({width}): no selector"


def main():
    site = Path(sys.argv[1]).resolve()
    count = len(pages(site))
    problems = [*broken(site), *opened(site)]
    print("\n".join(problems))
    print(f"site: {count} pages at two widths, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
