"""Fifty random stops, kills and reconnects of `appropo watch` leave the files of a run as they would have been.

Runs are begun, watched, stopped through the page's server, killed, and gone on with; the server is killed and started again,
also right after it was asked to stop a run; clients come and break off. Each run that has come to its end is held against
one that nobody disturbed, byte for byte but for the files that tell the time.

Usage: APPROPO_PROGRAM=target/release/appropo python3 bench/watch.py [EVENTS [SEED]]
Exit status: 0 all files are the same, 1 some differ.
"""

import collections
import http.client
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(os.environ.get("APPROPO_PROGRAM", "target/release/appropo")).resolve()
PROBLEMS = [
    ("mars-rover-diverse", "--player", "ogd", "--rounds", "6000", "--tolerance", "1e-12"),
    ("mars-rover-diverse", "--oracle", "ppo", "--samples", "25000"),
    ("cart-pole", "--samples", "15000"),
]
TELL_THE_TIME = ("times.json", "report.html")
OFTEN = ("--checkpoint-every", "0.05")


def start(*arguments, out=subprocess.DEVNULL):
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, text=True)


def kill(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name not in TELL_THE_TIME}


class Server:
    """`appropo watch` of one run, which may be killed and started again."""

    def __init__(self, folder):
        self.folder, self.process = folder, None
        self.again()

    def again(self):
        if self.process:
            kill(self.process)
            self.process.stdout.close()
        self.process = start("watch", self.folder, "--control", out=subprocess.PIPE)
        address = self.process.stdout.readline().strip()
        self.port, self.token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=(\w+)", address).groups()

    def ask(self, method, path, most=1 << 16):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=10)
        try:
            connection.request(method, path, headers={"X-Appropo-Token": self.token})
            answer = connection.getresponse()
            return answer.status, answer.read(most)
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()


def disturbed(folder, arguments, rng, counts, usual):
    """A run that is stopped, killed and watched at random until it has ended."""
    run = start("solve", *arguments, *OFTEN, "--quiet", "--run", folder)
    while not (folder / "run.json").is_file():
        time.sleep(0.001)
    server = Server(folder)
    longest = usual
    while True:
        until = time.monotonic() + rng.random() * longest
        while run.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        if run.poll() is not None and (folder / "result.json").is_file():
            break
        event = rng.choice(["stop", "kill", "watch killed", "stop, watch killed", "reconnect"])
        counts[event] += 1
        if event == "kill":
            kill(run)
        elif event.startswith("stop"):
            server.ask("POST", "/stop/0")
            if "," in event:
                server.again()
            run.wait()
        elif event == "watch killed":
            server.again()
        else:
            # A client that goes away in the middle of an event, and one that comes back.
            server.ask("GET", "/events", most=rng.randrange(1, 5000))
            assert server.ask("GET", "/", most=100)[0] == 200
        if run.poll() is not None and not (folder / "result.json").is_file():
            run = start("resume", folder, *OFTEN, "--quiet")
            longest *= 1.05
    run.wait()
    # A request that came too late is taken back by the server that passed it on, or by whoever opens the run next.
    time.sleep(0.7)
    kill(server.process)
    if (folder / "stop").exists() or (folder / "progress.json").exists():
        counts["left over, taken away by resume"] += 1
        start("resume", folder, "--quiet").wait()


def main():
    events, seed = (int(a) for a in (sys.argv[1:] + ["50", "1"][len(sys.argv) - 1 :]))
    rng, counts = random.Random(seed), collections.Counter()
    place = Path(tempfile.mkdtemp(prefix="appropo-watch-"))
    try:
        whole = []
        for number, arguments in enumerate(PROBLEMS):
            begin, folder = time.monotonic(), place / f"whole-{number}"
            start("solve", *arguments, *OFTEN, "--quiet", "--run", folder).wait()
            whole.append((arguments, files(folder), time.monotonic() - begin))
        number = 0
        while sum(counts.values()) < events:
            arguments, expected, usual = whole[number % len(whole)]
            folder = place / f"run-{number}"
            disturbed(folder, arguments, rng, counts, usual / 3)
            found = files(folder)
            different = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
            if different:
                print(f"{folder}: {', '.join(sorted(different))} differ after {dict(counts)}")
                return 1
            shutil.rmtree(folder)
            number += 1
    finally:
        shutil.rmtree(place, ignore_errors=True)
    said = ", ".join(f"{count} {event}" for event, count in sorted(counts.items()))
    print(f"watch: {number} runs with {sum(counts.values())} events ({said}): all files as undisturbed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
