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
LOAD_MILLISECONDS = 1000
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

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def open_file(self, path, before="", **options):
        """The page once it is drawn; the test fails if it complains or asks for anything else."""
        context = self.browser.new_context(**options)
        self.addCleanup(context.close)
        page = context.new_page()
        page.add_init_script(before)
        wrong = []
        self.addCleanup(lambda: self.assertEqual(wrong, [], path.name))
        own = path.resolve().as_uri()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("request", lambda request: request.url.split("#")[0] in (own, "data:,") or wrong.append(request.url))
        page.goto(own)
        self.wait(page, "[...document.querySelectorAll('.drawing')].every(d => d.firstChild || d.closest('details:not([open])'))")
        return page

    def wait(self, page, condition):
        """Playwright's own waiting evaluates strings in the page, which the page forbids."""
        for _ in range(200):
            if page.evaluate(condition):
                return
            page.wait_for_timeout(10)
        self.fail(f"never true: {condition}")

    def load_time(self, path):
        """Milliseconds until all is drawn: the best of three, since the machine may be busy with something else."""
        return min(self.open_file(path).evaluate("performance.now()") for _ in range(3))
