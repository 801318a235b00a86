"""The reports of real runs in Chromium, against the runs' own files; RUNS, of the environment, names their folder."""

import json
import math
import os
import re
import tomllib
import unittest
from pathlib import Path

from tests.browser.chromium import PHONE, BrowserTest, plain

RUNS = Path(os.environ["RUNS"]).resolve()
NAMES = sorted(path.parent.name for path in RUNS.glob("*/result.json"))
BYTES = 3_000_000
LONG_ROUNDS = 10_000
# The page writes six significant digits, and four in columns and titles.
SIX, FOUR = 1e-5, 1e-3
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def number(text):
    """A number as the page writes it: 12,345.6 or 1.2·10⁻⁷."""
    text = plain(text).replace(",", "").strip()
    mantissa, tens, power = text.rpartition("10") if re.search("10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]", text) else (text, "", "")
    if not tens:
        return float(text)
    return float((mantissa.rstrip("·") or "1") + "e" + power.translate(SUPERSCRIPTS))


class Run:
    """What a run's files say."""

    def __init__(self, name):
        self.folder = RUNS / name
        self.page = self.folder / "report.html"

        def read(file):
            return json.loads((self.folder / file).read_text())

        self.result, self.certificate, self.about = read("result.json"), read("certificate.json"), read("run.json")
        self.policies = read("manifest.json")["policies"]
        self.rounds = [json.loads(line) for line in (self.folder / "rounds.jsonl").read_text().splitlines()]
        self.problem = tomllib.loads((self.folder / "problem.toml").read_text())
        self.measurements = self.result["measurements"]

    def places(self):
        """Each constraint with its first entry among those that constraints look at."""
        place = 0
        for constraint in self.problem["constraint"]:
            yield constraint, place
            value = self.measurements[constraint["measure"]]
            place += (len(value) if isinstance(value, list) else 1) + constraint.get("share", False)

    def simple(self):
        """Constraints on one number: (constraint, first entry, lower, upper)."""
        for constraint, place in self.places():
            if isinstance(self.measurements[constraint["measure"]], float):
                equal = constraint.get("equals")
                yield constraint, place, constraint.get("at_least", equal), constraint.get("at_most", equal)


def for_each(*names):
    """Checks the pages of these runs, or of all."""

    def with_pages(check):
        def test(self):
            for name in names or NAMES:
                with self.subTest(name):
                    run = Run(name)
                    check(self, run, self.read_file(run.page))

        return test

    return with_pages


class RunTest(BrowserTest):
    def near(self, shown, exact, relative=SIX):
        shown = number(shown) if isinstance(shown, str) else shown
        self.assertTrue(math.isclose(shown, exact, rel_tol=relative, abs_tol=1e-12), f"{shown} is not {exact}")

    def section(self, page, title):
        return page.locator("section", has=page.locator("h2", has_text=title))

    def told(self, page, chart, key=None):
        """The tooltip's title and rows at the chart's end, or after a key."""
        chart.focus()
        page.keyboard.press(key or "ArrowRight")
        tooltip = page.locator(".tooltip")
        names, values = (tooltip.locator(tag).all_text_contents() for tag in ("th", "td"))
        return plain(tooltip.locator("strong").text_content()), dict(zip(names, values, strict=True))

    def test_all_runs_are_there(self):
        self.assertEqual(NAMES, ["cart-pole", "exact", "infeasible", "lake", "long", "ppo", "treasure"])

    @for_each()
    def test_constraints_equal_the_result(self, run, page):
        rows = page.locator("table").first.locator("tbody tr").all()
        self.assertEqual(len(rows), len(run.problem["constraint"]))
        shown = {row.locator("th").text_content(): row.locator("td").all_text_contents() for row in rows}
        for entry in run.result["constraints"]:
            self.assertEqual(shown[entry["name"]][-1], "✓ yes" if entry["holds"] else "✕ no")
        for constraint, place, lower, upper in run.simple():
            measure, value, required, slack, *interval, _ = shown[constraint["name"]]
            exact = run.measurements[constraint["measure"]]
            self.assertEqual(measure, constraint["measure"])
            self.near(value, exact)
            self.assertEqual(plain(required), f"at least {lower:g}" if upper is None else f"at most {upper:g}")
            self.near(slack, exact - lower if upper is None else upper - exact, FOUR)
            evaluation, scale = run.result["evaluation"], constraint.get("scale", 1)
            self.assertEqual(len(interval), int(evaluation is not None))
            if evaluation:
                mean, radius = evaluation["mean"][place] * scale, evaluation["radii"][place] * scale
                low, high = interval[0].strip("[]").split(", ")
                self.near(low, mean - radius, FOUR)
                self.near(high, mean + radius, FOUR)

    @for_each("exact", "ppo", "long")
    def test_slack_of_a_share(self, run, page):
        data = json.loads(page.locator("#data").text_content())[0]
        chosen = [c % 8 >= c // 8 and letter == "F" for c, letter in enumerate(data["grid"]["cells"])]
        center = [is_chosen / sum(chosen) for is_chosen in chosen]
        share = [visits / run.measurements["steps"] for visits in run.measurements["visits"]]
        row = page.locator("table").first.locator("tbody tr", has_text="diversity")
        self.near(row.locator("td").nth(3).text_content(), 0.12 - math.dist(share, center), FOUR)
        # Shares are of the visits, and steps have no threshold.
        self.assertEqual([m["name"] for m in data["measures"]], ["failure", "reward", "slack of diversity"])
        last = run.rounds[-1]["mixture"]["slack of diversity"]
        panel = self.section(page, "Measures against").locator(".panel").nth(2)
        _, rows = self.told(page, panel.locator("svg"))
        self.assertTrue(math.isclose(number(rows["slack of diversity"]), last, abs_tol=1e-6))

    @for_each()
    def test_facts_equal_the_result(self, run, page):
        names, values = (page.locator(f".facts {tag}").all_text_contents() for tag in ("dt", "dd"))
        facts = dict(zip(names, values, strict=True))
        self.near(facts["distance to the target set"], run.certificate["distance"])
        self.near(facts["lower bound on it"], run.certificate["lower_bound"])
        counts = {"samples": "samples", "samples for evaluation": "evaluation_samples", "oracle calls": "oracle_calls"}
        for name, field in {**counts, "policies": "policies"}.items():
            self.assertEqual(facts[name], f"{run.result[field]:,}")
        self.assertIn(run.result["verdict"], page.locator(".badge").text_content())
        self.assertEqual(page.locator("h1").text_content(), run.about["problem"])

    @for_each()
    def test_curves_end_where_the_log_ends(self, run, page):
        last = run.rounds[-1]
        if len(run.rounds) == 1:
            return
        title, rows = self.told(page, self.section(page, "Distance to").locator("svg.chart"))
        moment = f"Round {last['round']:,}" + (f", {last['samples']:,} samples" if last["samples"] else "")
        self.assertEqual(title, moment)
        self.near(rows["distance"], last["distance"])
        self.near(rows["lower bound"], last["lower_bound"])
        _, prices = self.told(page, self.section(page, "λ over").locator("svg.chart"))
        for constraint, *_ in run.simple():
            self.near(prices[constraint["measure"]], last["lambda"][constraint["measure"]])

    @for_each()
    def test_thresholds_are_those_of_the_problem(self, run, page):
        panels = self.section(page, "Measures against").locator(".panel")
        for constraint, _, lower, upper in run.simple():
            panel = panels.filter(has=page.locator("b", has_text=re.compile(f"^{constraint['measure']}$")))
            _, rows = self.told(page, panel.locator("svg.chart"))
            self.near(rows[constraint["measure"]], run.rounds[-1]["mixture"][constraint["measure"]])
            for bound, name in ((lower, "at least"), (upper, "at most")):
                self.assertEqual(name in rows, bound is not None)
                if bound is not None:
                    self.near(rows[name], bound)
                    self.assertIn(f"{name} {bound:g}", plain(panel.locator("p").text_content()))

    @for_each()
    def test_the_target_set_goes_on_where_it_has_no_end(self, run, page):
        data = json.loads(page.locator("#data").text_content())[0]
        names = [measure["name"] for measure in data["measures"]]
        bounds = {c["measure"]: (lower, upper) for c, _, lower, upper in run.simple()}
        outline = next(s for s in data["sets"] if (s["x"], s["y"]) == (0, 1))["outline"]
        chart = self.section(page, "The path").locator("svg.chart")
        frame = chart.locator("clipPath rect").evaluate(
            "r => ['x', 'y', 'width', 'height'].map(a => Number(r.getAttribute(a)))"
        )
        drawn = [
            tuple(map(float, p.split()))
            for p in re.split("[ML]", chart.locator(".target").get_attribute("d").strip("Z"))[1:]
        ]
        for axis, (start, size) in enumerate(((frame[0], frame[2]), (frame[1], frame[3]))):
            lower, upper = bounds[names[axis]]
            low, high = min(p[axis] for p in outline), max(p[axis] for p in outline)
            # Upwards is downwards on a screen.
            ends = (min(p[axis] for p in drawn), max(p[axis] for p in drawn))
            before, after = (ends[0] < start, ends[1] > start + size)[:: -1 if axis else 1]
            if lower is None:
                self.assertTrue(before)
            else:
                self.near(low, lower)
            if upper is None:
                self.assertTrue(after)
            else:
                self.near(high, upper)
        title, rows = self.told(page, chart)
        self.assertEqual(title, "End")
        for name in names[:2]:
            self.near(rows[name].split(" [")[0], run.measurements[name])

    @for_each()
    def test_visits_equal_the_result(self, run, page):
        chart = self.section(page, "Visits").locator("svg.chart")
        self.assertEqual(chart.count(), int("visits" in run.measurements and run.folder.name != "cart-pole"))
        if not chart.count():
            return
        # Pointing at each cell in one go is much quicker than moving a mouse.
        shown = chart.evaluate("""chart => [...chart.querySelectorAll('.cell')].map(cell => {
            const { x, y, width, height } = cell.getBoundingClientRect();
            const place = { clientX: x + width / 2, clientY: y + height / 2 };
            chart.dispatchEvent(new PointerEvent('pointermove', place));
            return document.querySelector('.tooltip td').textContent;
        })""")
        for text, visits in zip(shown, run.measurements["visits"], strict=True):
            self.near(text, visits)

    @for_each()
    def test_weights_equal_the_manifest(self, run, page):
        weights = [policy["weight"] for policy in run.policies]
        rows = self.section(page, "The mixture").locator("tbody tr").all()
        self.assertEqual(len(rows), min(10, len(weights)))
        for row in rows:
            which = int(row.locator("th").text_content())
            shown = number(row.locator("td").nth(1).text_content())
            self.assertAlmostEqual(shown, weights[which - 1], delta=1e-3 * max(weights))
        if len(weights) > 10:
            chart = self.section(page, "The mixture").locator("svg.chart")
            _, rows = self.told(page, chart, "ArrowLeft")
            self.near(rows["weight"], weights[0])

    @for_each()
    def test_tells_how_to_reproduce(self, run, page):
        self.assertEqual(page.locator(".command code").text_content(), run.about["command"])
        settings = page.locator(".settings").text_content()
        self.assertIn(f"seed{run.about['seed']}", settings)
        self.assertIn(run.about["version"], settings)
        self.assertEqual(page.locator("details code").last.text_content(), (run.folder / "problem.toml").read_text())

    def test_a_long_run_is_small_and_quick(self):
        run = Run("long")
        self.assertEqual(len(run.rounds), LONG_ROUNDS)
        self.assertLess(run.page.stat().st_size, BYTES)
        self.assert_loads_at_once(run.page)

    def test_runs_side_by_side(self):
        page = self.open_file(RUNS / "comparison.html")
        rows = page.locator("table").first.locator("tbody tr").all()
        for row, name in zip(rows, ("exact", "ppo", "long"), strict=True):
            run = Run(name)
            self.assertIn(name, row.locator("th").text_content())
            verdict, distance, bound, samples, seed, _ = row.locator("td").all_text_contents()
            self.assertIn(run.result["verdict"], verdict)
            self.near(distance, run.certificate["distance"], FOUR)
            self.near(bound, run.certificate["lower_bound"], FOUR)
            self.assertEqual((samples, seed), (f"{run.result['samples']:,}", str(run.about["seed"])))

    def test_a_phone_need_not_scroll_sideways(self):
        for path in RUNS.rglob("*.html"):
            with self.subTest(path.parent.name):
                page = self.open_file(path, viewport=PHONE)
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), PHONE["width"])


if __name__ == "__main__":
    unittest.main()
