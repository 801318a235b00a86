"""Pages in Chromium, and the numbers on them."""

import re
import shutil
import unittest

from playwright.sync_api import sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
# What makes a page slow on any machine: all there is to draw, and drawing it again.
MOST_NODES = 20_000
MOST_LAYOUTS = 4
PHONE = {"width": 360, "height": 740}


def plain(text):
    """Text as a program writes it."""
    return text.replace("\u2212", "-").replace("\u00a0", " ")


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", plain(text).replace(",", " "))]


def brightness(colour):
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        cls.contexts, cls.shared = {}, {}

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def open_file(self, path, before="", **options):
        """The page once it is drawn; the test fails if it complains or asks for anything else."""
        # Pages keep nothing for one another, and a new context takes longer than a page.
        context = self.contexts.get(repr(options)) or self.browser.new_context(**options)
        self.contexts[repr(options)] = context
        page, wrong = self.drawn(context, path, before)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual(wrong, [], path.name))
        return page

    def read_file(self, path):
        """The page in a context of its own, drawn once for all tests of a class that only read it or point at it."""
        if path not in self.shared:
            page, wrong = self.drawn(self.browser.new_context(), path)
            self.shared[path] = page, wrong
        page, wrong = self.shared[path]
        self.addCleanup(lambda: self.assertEqual(wrong, [], path.name))
        return page

    def drawn(self, context, path, before=""):
        """A page once it is drawn, and the list of what it has done wrong, which may grow."""
        page = context.new_page()
        page.add_init_script(before)
        wrong = []
        own = path.resolve().as_uri()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("request", lambda request: request.url.split("#")[0] in (own, "data:,") or wrong.append(request.url))
        page.goto(own)
        self.wait(
            page,
            "[...document.querySelectorAll('.drawing')].every(d => d.firstChild || d.closest('details:not([open])'))",
        )
        return page, wrong

    def wait(self, page, condition):
        """Playwright's own waiting evaluates strings in the page, which the page forbids."""
        for _ in range(200):
            if page.evaluate(condition):
                return
            page.wait_for_timeout(10)
        self.fail(f"never true: {condition}")

    def assert_loads_at_once(self, path):
        """Little is drawn, and once: time itself is the machine's."""
        page = self.read_file(path)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        counts = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
        session.detach()
        self.assertLess(counts["Nodes"], MOST_NODES, path.name)
        self.assertLessEqual(counts["LayoutCount"], MOST_LAYOUTS, path.name)
