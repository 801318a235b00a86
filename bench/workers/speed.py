"""How fast workers sample, what a batch costs besides the world, and how that grows with workers that are far away.

    python bench/workers/speed.py [--ray] [REPEATS]

Plays the same batch again and again: in this process, on 1 and on 2 worker processes and, with --ray, on 1 and 2 actors
of Ray, by turns, so that a busy machine is busy for all of them. Prints medians of the ratios of neighbours. Then it
plays with workers that are simulated, whose answers come after a stated time, against what the cost model says.
"""

import heapq
import os
import random
import statistics
import sys
import time

import appropo as ap
import world
from appropo import _appropo
from appropo.workers.pool import Member, Pool

#: Streams and steps of each in a batch.
STREAMS, STEPS = 8, 256


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

    def _ready(self, members, seconds):
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


def here(worker, policy, tasks):
    worker.load(policy)
    for _, task in tasks:
        worker.play(task)


def compare(name, make, ray, repeats):
    """Plays a batch everywhere, by turns."""
    problem = world.problem(make)
    policy, tasks, worker, _kept = batch(problem, STREAMS, STEPS)
    kinds = {"1 process": ap.Processes(1), "2 processes": ap.Processes(2)}
    if ray:
        kinds |= {"1 actor": ap.Ray(1, num_cpus=0.25), "2 actors": ap.Ray(2, num_cpus=0.25)}
    pools = {kind: workers._open(problem._recipe) for kind, workers in kinds.items()}
    single = [(stream, _short(task)) for stream, task in tasks]
    seconds = {kind: [] for kind in ["here", *pools]}
    overhead = {kind: [] for kind in pools}
    try:
        for pool in pools.values():
            pool.play(policy, tasks)
            pool.sent = pool.received = pool.batches = 0
        for _ in range(repeats):
            seconds["here"].append(timed(lambda: here(worker, policy, tasks)))
            for kind, pool in pools.items():
                seconds[kind].append(timed(lambda pool=pool: pool.play(policy, tasks)))
        for pool in pools.values():
            bytes_a_step = (pool.sent + pool.received) / (pool.batches * STREAMS * STEPS)
        for _ in range(5 * repeats):
            for kind, pool in pools.items():
                overhead[kind].append(timed(lambda pool=pool: pool.play(policy, single)))
    finally:
        for pool in pools.values():
            pool.close()
    steps = STREAMS * STEPS
    print(
        f"{name}: batches of {STREAMS} streams of {STEPS} steps, {bytes_a_step:.0f} bytes a step, "
        f"policy {len(policy):,} bytes"
    )
    for kind, taken in seconds.items():
        median = statistics.median(taken)
        line = f"  {kind:12} {steps / median:9,.0f} steps/s"
        if kind in overhead:
            line += f", a batch of one step a stream {1e3 * statistics.median(overhead[kind]):6.2f} ms"
        print(line)
    for one, two in [
        ("1 process", "2 processes"),
        ("1 actor", "2 actors"),
        ("here", "2 processes"),
        ("here", "1 process"),
    ]:
        if one in seconds and two in seconds:
            ratios = sorted(a / b for a, b in zip(seconds[one], seconds[two], strict=True))
            quarter = len(ratios) // 4
            print(
                f"  {two} against {one}: {statistics.median(ratios):.2f} times as fast "
                f"(quartiles {ratios[quarter]:.2f} to {ratios[-1 - quarter]:.2f})"
            )
    sys.stdout.flush()


def _short(task):
    """The same task for one step: the steps stand behind the kind and the stream."""
    return task[:9] + (1).to_bytes(8, "little") + task[17:]


class Far(Member):
    """A worker whose answers are known already and come when their time is up."""

    def __init__(self, pool, number):
        super().__init__()
        self.pool, self.ready = pool, time.perf_counter()
        heapq.heappush(pool.due, (self.ready, number, self))
        self.number = number

    def greet(self):
        pass

    def send(self, policy, tasks):
        self.tasks = tasks
        # No two are as far: answers come one by one.
        latency = self.pool.latency * random.uniform(0.5, 1.0)
        self.ready = time.perf_counter() + latency + self.pool.step * STEPS_FAR * len(tasks)
        heapq.heappush(self.pool.due, (self.ready, self.number, self))

    def receive(self):
        return [bytes(self.pool.answers[task]) for task in self.tasks], None

    def stop(self):
        pass


STEPS_FAR = 64
#: Waits up to this many seconds are not slept through.
SHORT = 0.002


class FarPool(Pool):
    """Simulated workers, so many seconds away, whose worlds take so long for a step."""

    def __init__(self, count, latency, step, answers):
        super().__init__(count, 1e6)
        self.latency, self.step, self.answers, self.due = latency, step, answers, []

    def _start(self, number):
        return Far(self, number)

    def _ready(self, members, seconds):
        if not self.due:
            return []
        start = time.perf_counter()
        wait = min(seconds, self.due[0][0] - time.perf_counter())
        if wait > SHORT:
            time.sleep(wait - SHORT)
        # A machine sleeps for longer than it is told to, and would be what is measured.
        while time.perf_counter() < min(self.due[0][0], start + seconds):
            pass
        now, found = time.perf_counter(), []
        while self.due and self.due[0][0] <= now:
            found.append(heapq.heappop(self.due)[2])
        return found


def far(repeats):
    """The cost model against simulated workers."""
    problem = world.problem(world.Make())
    print(f"simulated workers, a stream each, {STEPS_FAR} steps of it in a batch; seconds of a batch, and steps/s")
    policy, tasks, worker, _kept = batch(problem, 1000, STEPS_FAR)
    worker.load(policy)
    answers = {task: worker.play(task) for _, task in tasks}

    def measured(count, latency, step):
        pool = FarPool(count, latency, step, answers)
        pool.play(policy, tasks[:count])
        return statistics.median(timed(lambda: pool.play(policy, tasks[:count])) for _ in range(repeats))

    # What the driver does for a message is measured where there is nothing else.
    message = (measured(256, 0.0, 0.0) - measured(16, 0.0, 0.0)) / 240
    print(f"  the driver's time for a message and its answer: {1e6 * message:.0f} µs")
    for count in (8, 64, 1000):
        for latency, step in ((0.0005, 0.001), (0.005, 0.001), (0.05, 0.001), (0.005, 0.00002)):
            model = latency + STEPS_FAR * step + count * message
            found = measured(count, latency, step)
            print(
                f"  {count:5} workers, {1e3 * latency:4.1f} ms away, step {1e3 * step:5.2f} ms: model {model:.4f} s, "
                f"found {found:.4f} s; {count * STEPS_FAR / model:11,.0f}/s and {count * STEPS_FAR / found:11,.0f}/s"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    # Ray is kind to others on its machine; here it is to have as much of it as processes do.
    os.environ.setdefault("RAY_worker_niceness", "0")
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    repeats, ray = numbers[0] if numbers else 9, "--ray" in sys.argv
    compare("a world that sleeps 1 ms a step", world.Make(sleeps=0.001), ray, repeats)
    compare("a world that works 1 ms a step", world.Make(works=0.001), ray, repeats)
    compare("a world that works 20 µs a step", world.Make(works=0.00002), ray, 5 * repeats)
    far(repeats)
