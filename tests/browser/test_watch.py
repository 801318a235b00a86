"""Runs that are watched in Chromium while they go on, against their logs."""

import http.client
import json
import math
import re
import shutil
import signal
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from tests.browser.chromium import PHONE, BrowserTest, plain
from tests.program import PROGRAM, TARGET

PLACE = TARGET / "browser-watched"
# Rounds without end, quick enough for the page to change with every look at it.
ENDLESS = ("mars-rover-diverse", "--player", "ogd", "--rounds", "20000000", "--tolerance", "1e-12", "--quiet")
WAIT = 30


class Process:
    """A process of the program's that ends with the test."""

    def __init__(self, test, *arguments):
        self.process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        test.addCleanup(self.end)

    def end(self, how=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.communicate()
        return self.process.returncode


class Watch(Process):
    def __init__(self, test, *arguments):
        super().__init__(test, "watch", *arguments)
        self.address = self.process.stdout.readline().strip()
        self.port = int(re.search(r":(\d+)/", self.address)[1])
        self.token = self.address.rpartition("#token=")[2] if "#" in self.address else ""

    def ask(self, method, path, **fields):
        """The status and text of an answer; fields as in X_Appropo_Token="…"."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in fields.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


class WatchTest(BrowserTest):
    def solve(self, name):
        """A run that goes on until it is stopped, once it has begun."""
        folder = PLACE / name
        shutil.rmtree(folder, ignore_errors=True)
        process = Process(self, "solve", *ENDLESS, "--run", folder)
        self.until(lambda: (folder / "rounds.jsonl").is_file() and (folder / "rounds.jsonl").stat().st_size > 0)
        return folder, process

    def until(self, condition):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.02)
        self.fail("never true")

    def open(self, watch, **options):
        """The page of a server; the test fails if it complains or asks anyone else for anything."""
        context = self.browser.new_context(**options)
        page = context.new_page()
        self.complaints, own = [], f"http://127.0.0.1:{watch.port}/"
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "request", lambda request: request.url.startswith((own, "data:,")) or self.complaints.append(request.url)
        )
        page.goto(watch.address)
        self.addCleanup(context.close)
        self.addCleanup(lambda: self.assertEqual(self.complaints, []))
        return page

    def state(self, page, number=0):
        return page.locator(".live b").nth(number).text_content()

    def see(self, page, state, number=0):
        self.until(lambda: page.wait_for_timeout(20) or self.state(page, number) == state)

    def rounds(self, page):
        return int(self.facts(page)["oracle calls"].replace(",", ""))

    def facts(self, page):
        return dict(
            page.evaluate(
                "[...document.querySelectorAll('.facts div')].map(d => [...d.children].map(c => c.textContent))"
            )
        )

    def near(self, shown, exact):
        powers = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
        shown = re.sub(r"·10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)", lambda power: "e" + power[1].translate(powers), plain(shown))
        self.assertTrue(math.isclose(float(shown), exact, rel_tol=1e-5, abs_tol=1e-12), f"{shown} is not {exact}")

    def test_numbers_are_the_run_s_and_follow_it(self):
        folder, _ = self.solve("numbers")
        page = self.open(Watch(self, folder))
        self.assertEqual(self.state(page), "running")
        self.assertEqual(page.locator(".stop").count(), 0)
        page.locator("summary").first.click()
        before = self.rounds(page)
        for _ in range(3):
            self.until(lambda before=before: page.wait_for_timeout(20) or self.rounds(page) > before)
            # All of one moment: the page may change between two questions.
            facts, table, tail = page.evaluate(
                "[[...document.querySelectorAll('.facts div')].map(d => [...d.children].map(c => c.textContent)),"
                " [...document.querySelector('table').tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent)),"
                " document.querySelector('.log').textContent]"
            )
            facts = dict(facts)
            before = int(facts["oracle calls"].replace(",", ""))
            with (folder / "rounds.jsonl").open() as log:
                line = next(json.loads(text) for number, text in enumerate(log, 1) if number == before)
            self.assertEqual(line["round"], before)
            self.near(facts["distance to the target set"], line["distance"])
            self.near(facts["lower bound on it"], line["lower_bound"])
            for name, measure, value, _, slack, _ in table:
                if name == "diversity":
                    self.near(slack, line["mixture"]["slack of diversity"])
                else:
                    self.near(value, line["mixture"][measure])
            last = plain(tail.splitlines()[0])
            self.assertTrue(last.startswith(f"round {before}: distance "), last)
            self.near(re.search(r"failure (\S+?),", last)[1], line["mixture"]["failure"])
        # What was unfolded stays so.
        self.assertTrue(page.locator("details").first.evaluate("fold => fold.open"))

    def test_the_button_stops_the_run_and_the_token_is_needed(self):
        (folder, process), (other, _) = self.solve("stopped"), self.solve("beside")
        watch = Watch(self, folder, other, "--control")
        self.assertRegex(watch.token, "^[0-9a-f]{32}$")
        own = f"http://127.0.0.1:{watch.port}"
        wrong = watch.token[:-1] + ("0" if watch.token[-1] != "0" else "1")
        for status, fields in (
            (403, {}),
            (403, {"X_Appropo_Token": wrong}),
            (403, {"X_Appropo_Token": watch.token[:-1]}),
            (403, {"X_Appropo_Token": watch.token, "Origin": "http://evil.example"}),
            (403, {"X_Appropo_Token": watch.token, "Origin": "null"}),
            (403, {"X_Appropo_Token": watch.token, "Sec_Fetch_Site": "cross-site"}),
            (421, {"X_Appropo_Token": watch.token, "Host": f"evil.example:{watch.port}"}),
        ):
            self.assertEqual(watch.ask("POST", "/stop/0", **fields)[0], status, fields)
        self.assertEqual(watch.ask("POST", "/stop/7", X_Appropo_Token=watch.token, Origin=own)[0], 404)
        self.assertFalse((folder / "stop").exists())
        page = self.open(watch)
        # The token is in no address that could be passed on.
        self.assertEqual(page.url, f"{own}/")
        self.assertEqual(page.locator(".stop").count(), 2)
        self.assertEqual(len(page.locator("svg.chart").first.locator("path.series").all()), 2)
        page.locator("#run-1 .stop").click()
        self.see(page, "stopped", 0)
        self.assertEqual(self.state(page, 1), "running")
        self.assertEqual(process.process.wait(WAIT), 130)
        self.assertIn("appropo resume", process.process.stdout.read())
        self.assertTrue((folder / "checkpoint").is_file())
        self.assertFalse((folder / "stop").exists() or (folder / "progress.json").exists())
        self.assertEqual(watch.ask("POST", "/stop/0", X_Appropo_Token=watch.token)[0], 409)
        # Reloaded, the page still has its token.
        page.reload()
        self.assertEqual(page.locator(".stop").count(), 1)

    def test_without_control_nothing_can_be_stopped(self):
        folder, process = self.solve("read-only")
        watch = Watch(self, folder)
        self.assertEqual(watch.token, "")
        self.assertEqual(watch.ask("POST", "/stop/0", X_Appropo_Token="")[0], 403)
        for path in ("/../run.json", "/run.json", "/%2e%2e/lock", "//", "/events/", "/?token="):
            self.assertEqual(watch.ask("GET", path)[0], 404, path)
        self.assertEqual(watch.ask("DELETE", "/")[0], 405)
        self.assertEqual(watch.ask("GET", "/", Host="rebound.example")[0], 421)
        self.assertIsNone(process.process.poll())

    def test_a_page_of_another_origin_gets_nothing(self):
        folder, process = self.solve("foreign")
        watch = Watch(self, folder, "--control")

        class Foreign(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!DOCTYPE html><title>foreign</title>")

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Foreign)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        context = self.browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(f"http://localhost:{server.server_port}/")
        ask = (
            "([path, options]) => fetch(path, options)"
            ".then(answer => answer.type === 'opaque' ? 'opaque' : answer.text(), () => 'refused')"
        )
        own, token = f"http://127.0.0.1:{watch.port}", {"X-Appropo-Token": watch.token}
        self.assertEqual(page.evaluate(ask, [f"{own}/", {}]), "refused")
        self.assertEqual(page.evaluate(ask, [f"{own}/stop/0", {"method": "POST", "headers": token}]), "refused")
        # Without the token's field a browser asks nobody before it sends; what comes back can't be read.
        blind = page.evaluate(ask, [f"{own}/stop/0", {"method": "POST", "mode": "no-cors"}])
        self.assertIn(blind, ("opaque", "refused"))
        page.evaluate(
            "address => { const f = document.createElement('iframe'); f.src = address; document.body.append(f); }",
            f"{own}/",
        )
        page.wait_for_timeout(300)
        self.assertEqual(
            [frame for frame in page.frames[1:] if frame.url.startswith(own) and frame.locator(".live").count()], []
        )
        self.assertFalse((folder / "stop").exists())
        self.assertIsNone(process.process.poll())

    def test_a_killed_run_shows_as_such_and_a_lost_server_is_found_again(self):
        folder, process = self.solve("killed")
        watch = Watch(self, folder)
        page = self.open(watch)
        process.end(signal.SIGKILL)
        self.see(page, "killed")
        self.assertIn("appropo resume", page.locator(".live").text_content())
        self.assertEqual(page.locator(".badge").text_content().split()[-1], "killed")
        watch.end(signal.SIGKILL)
        self.see(page, "not connected")
        self.complaints.clear()  # The browser says that there is no server.
        resumed = Process(self, "resume", folder, "--quiet")
        self.until(lambda: (folder / "progress.json").is_file() and Watched(folder).is_in_use())
        Watch(self, folder, "--port", watch.port)
        self.see(page, "running")
        self.complaints.clear()
        before = self.rounds(page)
        self.until(lambda: page.wait_for_timeout(20) or self.rounds(page) > before)
        resumed.end(signal.SIGTERM)
        self.see(page, "stopped")

    def test_a_phone_need_not_scroll_sideways_and_a_result_takes_its_place(self):
        folder = PLACE / "ends"
        shutil.rmtree(folder, ignore_errors=True)
        Process(self, "solve", "mars-rover", "--run", folder, "--quiet").process.wait(WAIT)
        going, _ = self.solve("phone")
        page = self.open(Watch(self, folder, going), viewport=PHONE)
        self.assertEqual((self.state(page, 0), self.state(page, 1)), ("ended", "running"))
        self.assertEqual(page.locator("#run-1 .badge").text_content().split()[-1], "feasible")
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), PHONE["width"])


class Watched:
    def __init__(self, folder):
        self.lock = Path(folder) / "lock"

    def is_in_use(self):
        import fcntl

        with self.lock.open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
        return False
