"""The report's pages in Chromium: the environment variable PAGES names their folder.

Most tests look at the pages of the example sample_pages, and are skipped for other folders.
"""

import itertools
import json
import os
import unittest
from pathlib import Path

from tests.browser.chromium import PHONE, BrowserTest, brightness, numbers, plain

PAGES = Path(os.environ["PAGES"]).resolve()
NAMES = sorted(path.stem for path in PAGES.glob("*.html"))


class PageTest(BrowserTest):
    def open(self, name, **options):
        return self.open_file(self.path(name), **options)

    def read(self, name):
        return self.read_file(self.path(name))

    def path(self, name):
        if name not in NAMES:
            self.skipTest(f"{PAGES} has no {name}.html")
        return PAGES / f"{name}.html"

    def data(self, name):
        return json.loads((PAGES / f"{name}.json").read_text())

    def test_there_are_pages(self):
        self.assertNotEqual(NAMES, [])

    def test_loads_at_once_and_asks_for_nothing(self):
        for name in NAMES:
            with self.subTest(name):
                self.assert_loads_at_once(self.path(name))

    def test_shows_no_broken_numbers(self):
        for name in NAMES:
            with self.subTest(name):
                page = self.read(name)
                markup = page.locator("main").evaluate("main => main.innerHTML")
                self.assertNotRegex(markup, r"NaN|undefined|Infinity|\[object")
                headings = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => Number(h.tagName[1]))")
                self.assertEqual(headings.count(1), 1)
                self.assertTrue(all(b <= a + 1 for a, b in itertools.pairwise(headings)), headings)

    def test_names_are_text(self):
        page = self.read("empty")
        self.assertEqual(page.locator("h1").text_content(), self.data("empty")[0]["name"])

    def test_constraints_equal_the_data(self):
        for name in ("rover", "infeasible", "one_round", "long"):
            with self.subTest(name):
                page = self.read(name)
                [run] = self.data(name)
                rows = page.locator("table").first.locator("tbody tr").all()
                self.assertEqual(len(rows), len(run["constraints"]))
                for row, constraint in zip(rows, run["constraints"], strict=True):
                    cells = [plain(cell) for cell in row.locator("th, td").all_text_contents()]
                    fields = ("name", "measure", "value", "required", "slack")
                    self.assertEqual(cells[:5], [constraint[field] for field in fields])
                    self.assertIn("yes" if constraint["holds"] else "no", cells[-1])
                    if constraint["interval"]:
                        for shown, exact in zip(numbers(cells[5]), constraint["interval"], strict=True):
                            self.assertAlmostEqual(shown, exact, delta=1e-3 * abs(exact))
                self.assertIn(run["verdict"], page.locator(".badge").text_content())
                names, values = (page.locator(f".facts {tag}").all_text_contents() for tag in ("dt", "dd"))
                facts = dict(zip(names, values, strict=True))
                self.assertEqual(facts["samples"], f"{run['samples']:,}")
                self.assertEqual(facts["oracle calls"], f"{run['oracle_calls']:,}")
                self.assertAlmostEqual(float(facts["distance to the target set"]), run["distance"], places=8)
                settings = page.locator(".settings").text_content()
                self.assertIn(str(run["seed"]), settings)

    def test_choosing_measures_draws_again(self):
        page = self.open("long")
        run = self.data("long")[0]
        figure = page.locator("figure", has=page.locator("select"))
        across, up = figure.locator("select").all()
        titles = figure.locator("svg.chart .title").all_text_contents
        before = figure.locator("svg.chart").inner_html()
        self.assertEqual(set(titles()), {run["measures"][0]["name"], run["measures"][1]["name"]})
        across.select_option("4")
        self.assertEqual(set(titles()), {run["measures"][4]["name"], run["measures"][1]["name"]})
        self.assertNotEqual(before, figure.locator("svg.chart").inner_html())
        # The same measure twice makes the axes change places.
        up.select_option("4")
        self.assertEqual((across.input_value(), up.input_value()), ("1", "4"))
        self.assertEqual(figure.locator(".target").count(), 0)
        up.select_option("2")
        self.assertEqual(figure.locator(".target").count(), 1)
        before = figure.locator("svg.chart").inner_html()
        figure.locator("input").check()
        self.assertNotEqual(before, figure.locator("svg.chart").inner_html())

    def test_hovering_tells_values(self):
        page = self.open("infeasible")
        run = self.data("infeasible")[0]
        chart = page.locator("svg.chart").first
        box = chart.bounding_box()
        chart.hover(position={"x": box["width"] - 12, "y": 60})
        tooltip = page.locator(".tooltip")
        self.assertTrue(tooltip.is_visible())
        self.assertEqual(tooltip.locator("strong").text_content(), "Round 7")
        shown = [float(value) for value in tooltip.locator("td").all_text_contents()]
        self.assertEqual(shown, [run["rounds"]["distance"][-1], run["rounds"]["lower_bound"][-1]])
        page.mouse.move(2, 2)
        self.assertFalse(tooltip.is_visible())

    def test_keyboard_and_finger_tell_values(self):
        page = self.open("rover", viewport=PHONE, has_touch=True)
        run = self.data("rover")[0]
        tooltip = page.locator(".tooltip")
        # The first chart comes first, and starts at its last round.
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        self.assertEqual(numbers(tooltip.locator("strong").text_content())[0], run["rounds"]["round"][-3])
        page.keyboard.press("Escape")
        self.assertFalse(tooltip.is_visible())
        heat_map = page.locator(".map svg")
        heat_map.scroll_into_view_if_needed()
        page.wait_for_timeout(100)
        heat_map.tap(position={"x": 20, "y": 20})
        self.assertIn("start", tooltip.text_content())
        self.assertAlmostEqual(numbers(tooltip.locator("td").first.text_content())[0], run["grid"]["visits"][0])
        page.locator("h2").last.tap()
        self.assertFalse(tooltip.is_visible())

    def test_a_phone_need_not_scroll_sideways(self):
        for name in NAMES:
            with self.subTest(name):
                page = self.open(name, viewport=PHONE)
                widest = page.evaluate("document.documentElement.scrollWidth")
                self.assertLessEqual(widest, PHONE["width"])
                self.assertEqual(
                    page.evaluate(
                        "[...document.querySelectorAll('main *')].filter(e => !e.closest('svg, thead, .offscreen')"
                        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
                    ),
                    [],
                )

    def test_dark_and_paper(self):
        page = self.open("rover", color_scheme="dark")
        colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        background, ink = map(brightness, page.evaluate(colours))
        self.assertLess(background, 60)
        self.assertGreater(ink, 180)
        stroke = page.locator("path.series").first.evaluate("path => getComputedStyle(path).stroke")
        self.assertGreater(brightness(stroke), 100)
        page.emulate_media(media="print", color_scheme="dark")
        self.assertEqual(list(map(brightness, page.evaluate(colours))), [255, 0])

    def test_paper_shows_what_is_folded(self):
        page = self.open("long")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(page.locator(".drawing:not(:has(svg))").count(), 0)
        self.assertGreater(len(page.pdf(format="A4")), 10_000)

    def test_runs_side_by_side(self):
        page = self.open("comparison")
        runs = self.data("comparison")
        rows = page.locator("table").first.locator("tbody tr").all()
        self.assertEqual(len(rows), len(runs))
        for k, (row, run) in enumerate(zip(rows, runs, strict=True), 1):
            link = row.locator("a")
            self.assertEqual(link.text_content(), run["name"])
            self.assertEqual(link.get_attribute("href"), f"#run-{k}")
            self.assertEqual(page.locator(f"#run-{k} h2").text_content(), run["name"])
            cells = row.locator("td").all_text_contents()
            self.assertIn(run["verdict"], cells[0])
            self.assertEqual(float(cells[1]), run["distance"])
            self.assertEqual(cells[3:5], [f"{run['samples']:,}", str(run["seed"])])
        lines = page.locator("svg.chart").first.locator("path.series")
        self.assertEqual(lines.count(), len(runs))
        toggle = page.locator(".legend button").first
        toggle.click()
        self.assertEqual(toggle.get_attribute("aria-pressed"), "false")
        self.assertEqual(lines.count(), len(runs) - 1)
        for button in page.locator(".legend button").all()[1:]:
            button.click()
        self.assertEqual(lines.count(), 0)
        page.locator("svg.chart").first.hover()
        toggle.click()
        self.assertEqual(lines.count(), 1)

    def test_copies_the_command(self):
        page = self.open("rover", permissions=["clipboard-read", "clipboard-write"])
        page.locator(".command button").click()
        self.wait(page, "document.querySelector('.command button').textContent === 'copied'")
        self.assertEqual(page.evaluate("navigator.clipboard.readText()"), self.data("rover")[0]["command"])

    def test_charts_have_names(self):
        for name in NAMES:
            page = self.read(name)
            labels = page.locator("svg.chart").evaluate_all("all => all.map(s => s.getAttribute('aria-label'))")
            self.assertTrue(all(labels), name)
            self.assertEqual(page.locator("table.data:not(:has(caption))").count(), 0)

    def test_leaks_no_globals(self):
        names = "Object.getOwnPropertyNames(window)"
        page = self.open("rover", before=f"window.before = {names}")
        extra = set(page.evaluate(names)) - set(page.evaluate("before")) - {"before"}
        # A browser may name elements with an id on the window.
        self.assertLessEqual({name for name in extra if not name.startswith("id-")}, {"data"})


if __name__ == "__main__":
    unittest.main()
