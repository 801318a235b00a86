"""How fast workers sample, what a batch costs besides the world, and how that grows with workers that are far away.

    python bench/workers/speed.py [--ray] [REPEATS]

Plays the same batch again and again: in this process, on 1 and on 2 worker processes and, with --ray, on 1 and 2 actors
of Ray, by turns, so that a busy machine is busy for all of them. Prints medians of the ratios of neighbours, and the
processor's time that a batch takes, which a busy machine does not change: from it follows what 2 idle processors would
reach. Then it holds the cost model against workers that are simulated, whose answers come after a stated time. Linux.
"""

import collections
import heapq
import math
import os
import random
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

import appropo as ap
import world
from appropo import _appropo
from appropo.workers.actors import ActorPool
from appropo.workers.cluster import DONE, HEAD, PLAY, START, Cluster
from appropo.workers.pool import Pool
from appropo.workers.processes import receive, send

#: Streams and steps of each in a batch.
STREAMS, STEPS = 8, 256
TICK = 1.0 / os.sysconf("SC_CLK_TCK")


class Captured(Exception):
    """Carries what a learner asked for."""


class Capture(Pool):
    """Takes down what a learner asks for first, and ends the solve."""

    def play(self, policy, tasks):
        if tasks[0][0] is not None:
            raise Captured(policy, tasks)
        worker = self.worker
        worker.load(policy)
        return [worker.play(task) for _, task in tasks]

    def _start(self, number):
        raise NotImplementedError

    def _ready(self, seconds):
        raise NotImplementedError


def batch(problem, streams, steps):
    """The first batch of a learner, and a worker of this process."""
    core, kept = problem._recipe.core()
    pool = Capture(1, 1.0)
    pool.worker = _appropo.Worker(core, 0)
    plan, _ = problem._plan(problem._core, {"oracle": ap.PPO(n_steps=steps), "num_envs": streams, "samples": 10**6})
    try:
        _appropo.solve(problem._core, plan, workers=pool)
    except Captured as captured:
        return (*captured.args, pool.worker, kept)
    raise AssertionError("the learner asked for nothing")


def timed(play):
    start = time.perf_counter()
    play()
    return time.perf_counter() - start


def spent(process):
    """The processor's time that a process has taken, with all of its threads; 0 once it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return TICK * (int(fields[11]) + int(fields[12]))


def below(process):
    """A process and all that came of it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


class Place:
    """Somewhere to play, and the time that was spent there."""

    def __init__(self, pool=None, pids=None):
        self.pool, self.seconds, self.overhead = pool, [], []
        self.workers = [int(path.name[4:]) for path in pids.glob("pid-*")] if pids else []
        cluster = getattr(pool, "cluster", None)
        #: The process that speaks to Ray, and what Ray runs besides.
        self.speaker = [cluster.process.pid] if cluster else []
        others = below(cluster.process.pid) - {*self.workers, *self.speaker} if cluster else ()
        self.spent = dict.fromkeys([os.getpid(), *self.workers, *self.speaker, *others], 0.0)

    def play(self, play):
        before = {process: spent(process) for process in self.spent}
        start = time.process_time()
        self.seconds.append(timed(play))
        self.spent[os.getpid()] += time.process_time() - start
        for process in self.spent.keys() - {os.getpid()}:
            self.spent[process] += spent(process) - before[process]

    def cost(self):
        """Seconds of the processor a batch: the driver's, each worker's, the speaker's, and the rest of Ray's."""
        taken = {process: seconds / len(self.seconds) for process, seconds in self.spent.items()}
        driver, speaker = taken.pop(os.getpid()), sum(taken.pop(process) for process in self.speaker)
        workers = [taken.pop(process) for process in self.workers]
        return driver, workers, speaker, sum(taken.values())

    def attainable(self):
        """Seconds of a batch on two idle processors: who waits for whom, and all of the work."""
        driver, workers, speaker, rest = self.cost()
        in_turn = driver + speaker + max(workers, default=0.0)
        return max(in_turn, (driver + sum(workers) + speaker + rest) / 2)


def here(worker, policy, tasks):
    worker.load(policy)
    for _, task in tasks:
        worker.play(task)


def compare(name, settings, ray, repeats):
    """Plays a batch everywhere, by turns."""
    kinds = {"1 process": ap.Processes(1), "2 processes": ap.Processes(2)}
    if ray:
        kinds |= {"1 actor": ap.Ray(1, num_cpus=0.25), "2 actors": ap.Ray(2, num_cpus=0.25)}
    policy, tasks, worker, _kept = batch(world.problem(world.Make(**settings)), STREAMS, STEPS)
    single = [(stream, _short(task)) for stream, task in tasks]
    places, folders = {"here": Place()}, tempfile.TemporaryDirectory()
    try:
        for kind, workers in kinds.items():
            pids = Path(folders.name, kind)
            pids.mkdir()
            pool = workers._open(world.problem(world.Make(folder=str(pids), **settings))._recipe)
            pool.play(policy, tasks)
            pool.sent = pool.received = pool.batches = 0
            places[kind] = Place(pool, pids)
        pools = {kind: place for kind, place in places.items() if place.pool}
        for _ in range(repeats):
            places["here"].play(lambda: here(worker, policy, tasks))
            for place in pools.values():
                place.play(lambda place=place: place.pool.play(policy, tasks))
        for place in pools.values():
            bytes_a_step = (place.pool.sent + place.pool.received) / (place.pool.batches * STREAMS * STEPS)
        for _ in range(5 * repeats):
            for place in pools.values():
                place.overhead.append(timed(lambda place=place: place.pool.play(policy, single)))
    finally:
        for place in places.values():
            if place.pool:
                place.pool.close()
        folders.cleanup()
    shown(name, places, f"{bytes_a_step:.0f} bytes a step, policy {len(policy):,} bytes", "works" in settings)


def shown(name, places, size, is_computing):
    steps = STREAMS * STEPS
    print(f"{name}: batches of {STREAMS} streams of {STEPS} steps, {size}")
    for kind, place in places.items():
        driver, workers, speaker, rest = place.cost()
        line = f"  {kind:12} {steps / statistics.median(place.seconds):9,.0f} steps/s; processor, ms a batch: driver "
        line += f"{1e3 * driver:.1f}, workers {' and '.join(f'{1e3 * each:.0f}' for each in workers) or 0}"
        line += f", who speaks to Ray {1e3 * speaker:.0f}, Ray {1e3 * rest:.0f}" if place.speaker else ""
        if place.overhead:
            line += f"; a batch of one step a stream {1e3 * statistics.median(place.overhead):.2f} ms"
        print(line)
    pairs = [("1 process", "2 processes"), ("1 actor", "2 actors"), ("here", "1 process"), ("here", "1 actor")]
    for one, two in pairs:
        if one in places and two in places:
            ratios = [a / b for a, b in zip(places[one].seconds, places[two].seconds, strict=True)]
            ratios.sort()
            quarter = len(ratios) // 4
            line = f"  {two} against {one}: {statistics.median(ratios):.2f} times as fast "
            line += f"(quartiles {ratios[quarter]:.2f} to {ratios[-1 - quarter]:.2f})"
            if is_computing:
                idle = places[one].attainable() / places[two].attainable()
                line += f"; on 2 idle processors, by what it takes of them, {idle:.2f}"
            print(line)
    sys.stdout.flush()


def _short(task):
    """The same task for one step: the steps stand behind the kind and the stream."""
    return task[:9] + (1).to_bytes(8, "little") + task[17:]


#: Steps of a stream in a batch of simulated workers; bytes of a task, of a policy and of the answer to a step.
STEPS_FAR, TASK, POLICY, STEP = 64, 300, 70_000, 39


class Empty:
    """A recipe of nothing."""

    @staticmethod
    def packed():
        return b""


class Far:
    """Simulated workers behind the process that speaks to Ray: all of the way but Ray itself and the worlds is real."""

    def __init__(self, count, away, work, cost):
        os.environ["FAR"] = f"{away} {work} {cost} {STEPS_FAR * STEP}"
        os.environ["PYTHONPATH"] = str(Path(__file__).parent / "far")
        try:
            self.pool = ActorPool(Empty, count, 1e6, None, 1.0)
        finally:
            del os.environ["PYTHONPATH"]
        self.count, self.played = count, 0
        self.tasks = [(stream, bytes(TASK)) for stream in range(count)]
        self.play()

    def play(self):
        self.played += 1
        self.pool.play(self.played.to_bytes(8, "little") * (POLICY // 8), self.tasks)

    def message(self, repeats):
        """What a message and its answer take of the processor: the driver's time, and that of the process beside it."""
        process = self.pool.cluster.process.pid
        driver, beside = time.process_time(), spent(process)
        for _ in range(repeats):
            self.play()
        messages = repeats * self.count
        return (time.process_time() - driver) / messages, (spent(process) - beside) / messages

    def close(self):
        self.pool.close()


def of_ray(repeats):
    """What the process that speaks to Ray takes for a message and its answer."""
    problem = world.problem(world.Make())
    policy, tasks, _, _kept = batch(problem, STREAMS, STEPS)
    single = [(stream, _short(task)) for stream, task in tasks][:2]
    pool = ap.Ray(2, num_cpus=0.25)._open(problem._recipe)
    try:
        pool.play(policy, single)
        process, count = pool.cluster.process.pid, 200 * repeats
        before = spent(process)
        for _ in range(count):
            pool.play(policy, single)
        return (spent(process) - before) / (2 * count)
    finally:
        pool.close()


class Clocked(Cluster):
    """A cluster whose time is simulated: this process's own work as the processor counts it, and what it waits for.

    Messages go through a socket and back, as ever; what the other end does there is not counted but stated: `cost` for
    a message and its answer, one after the other, and then the way to a worker, its work, and the way back.
    """

    def __init__(self, away, work, cost):
        self.away, self.work, self.cost, self.processors = away, work, cost, 0.0
        self._socket, self._theirs = socket.socketpair()
        self.aside = self.waited = self.free = 0.0
        self.due, self.there = [], collections.deque()

    def now(self):
        return time.thread_time() - self.aside + self.waited

    def busy(self, since):
        """When the other end is done with half of a message, which comes at this time."""
        self.free = max(self.free, since) + self.cost / 2
        return self.free

    def send(self, what, number, flag=False, parts=()):
        super().send(what, number, flag, parts)
        start = time.thread_time()
        now = self.now()
        receive(self._theirs)
        if what in (START, PLAY):
            # No two are as far: answers come one by one.
            away = self.away * random.uniform(0.5, 1.0) + self.work if what == PLAY else 0.0
            heapq.heappush(self.due, (self.busy(now) + away, number, len(parts)))
        self.aside += time.thread_time() - start

    def receive(self, seconds):
        start = time.thread_time()
        now = self.now()
        while not self.there or self.there[0][0] > now:
            upcoming = min(self.due[0][0] if self.due else math.inf, self.there[0][0] if self.there else math.inf)
            if upcoming > now:
                self.waited += upcoming - now
                now = upcoming
            while self.due and self.due[0][0] <= now:
                at, number, count = heapq.heappop(self.due)
                self.there.append((self.busy(at), number, count))
        # As many as a socket holds.
        for _ in range(32):
            if self.there and self.there[0][0] <= now:
                _, number, count = self.there.popleft()
                send(self._theirs, False, [HEAD.pack(DONE, number), *[bytes(STEPS_FAR * STEP)] * count])
        self.aside += time.thread_time() - start
        return super().receive(0.0)

    def close(self):
        self._socket.close()
        self._theirs.close()


class ClockedPool(ActorPool):
    """Workers of such a cluster."""

    def __init__(self, count, *settings):
        Pool.__init__(self, count, 1e6)
        self.cluster, self._actors, self._policy = Clocked(*settings), {}, None
        self.tasks = [(stream, bytes(TASK)) for stream in range(count)]
        self.seconds(1)

    def seconds(self, repeats):
        """Seconds of a batch, and of the driver in it."""
        found = []
        for number in range(repeats):
            start, before = self.cluster.now(), self.cluster.waited
            self.play(number.to_bytes(8, "little") * (POLICY // 8), self.tasks)
            whole = self.cluster.now() - start
            found.append((whole, whole - (self.cluster.waited - before)))
        return [statistics.median(each) for each in zip(*found, strict=True)]


def far(ray, repeats):
    """The cost model against simulated workers."""
    bare = Far(256, 0.01, 0.0, 0.0)
    _, beside = bare.message(10 * repeats)
    bare.close()
    near = ClockedPool(256, 0.05, 0.0, 0.0)
    driver = near.seconds(10 * repeats)[1] / 256
    near.close()
    cost = of_ray(repeats) if ray else beside
    message = max(driver, cost)
    print(
        f"a message and its answer, µs of the processor: the driver {1e6 * driver:.0f}, the process that speaks to Ray "
        f"{1e6 * beside:.0f} without Ray" + (f", {1e6 * cost:.0f} with it" if ray else "")
    )
    print(f"simulated workers, a stream each, {STEPS_FAR} steps of it in a batch; steps/s")
    print("  workers  away ms  step ms      model      found   found/model")
    for step in (0.001, 0.00002):
        for count in (8, 64, 1000):
            for away in (0.005, 0.05):
                waits = STEPS_FAR * step + away
                model = max(waits + count * message / 2, count * message)
                workers = ClockedPool(count, away, STEPS_FAR * step, cost)
                found, _ = workers.seconds(repeats)
                workers.close()
                steps = count * STEPS_FAR
                print(
                    f"  {count:7} {1e3 * away:8.0f} {1e3 * step:8.2f} {steps / model:10,.0f} {steps / found:10,.0f} "
                    f"{model / found:13.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    world.as_eager_as_processes()
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    repeats, ray = numbers[0] if numbers else 9, "--ray" in sys.argv
    loops = world.loops(0.001)
    compare("a world that sleeps 1 ms a step", {"sleeps": 0.001}, ray, repeats)
    compare("a world that works 1 ms a step", {"works": loops}, ray, repeats)
    compare("a world that works 20 µs a step", {"works": loops // 50}, ray, 5 * repeats)
    far(ray, repeats)
