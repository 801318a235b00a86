"""The numbers of the gallery, found again by programmes that SciPy and CVXPY solve over the pages' arrays.

Nothing of appropo's is asked: the first block of Python of a page leaves `transitions`, `measures` and `start`, and
what the page prints stands in its text.
"""

import contextlib
import io
import re

import cvxpy
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from tests.documents import pages
from tests.program import ROOT

GALLERY = ROOT / "docs/gallery"


class Page:
    """A page of the gallery: the names that its first block leaves, and the numbers in what it prints."""

    def __init__(self, name):
        self.path = GALLERY / f"{name}.md"
        self.blocks = pages.blocks(self.path)
        first = next(block for block in self.blocks if block.language == "python")
        with contextlib.redirect_stdout(io.StringIO()):
            exec(first.text, vars(self))

    def shown(self, pattern):
        """The numbers that a line of the page's outputs shows."""
        outputs = "\n".join(block.output.text for block in self.blocks if block.output)
        found = re.search(pattern.replace("#", r"(-?[\d.]*\d)"), outputs)
        assert found, f"{self.path.name} shows nothing like {pattern}"
        return [float(number) for number in found.groups()]

    def occupancies(self, discount, horizon=None, ends=()):
        return Occupancies(self.transitions, getattr(self, "start", 0), discount, horizon, ends)


class Occupancies:
    """ρ ≥ 0 with flow·ρ = entering: the expected discounted number of times that each choice is made, by time where
    there is a horizon."""

    def __init__(self, transitions, start, discount, horizon=None, ends=()):
        actions, states, _ = transitions.shape
        there = transitions.sum(axis=2).T > 0
        there[list(ends)] = False
        self.pairs = np.argwhere(there)
        times = horizon or 1
        out = sparse.csr_matrix(
            (np.ones(len(self.pairs)), (self.pairs[:, 0], np.arange(len(self.pairs)))), (states, len(self.pairs))
        )
        into = sparse.csr_matrix(discount * np.array([transitions[a, s] for s, a in self.pairs]).T)
        shift = sparse.eye(times, k=-1) if horizon else sparse.eye(1)
        flow = sparse.kron(sparse.eye(times), out) - sparse.kron(shift, into)
        entering = np.zeros(times * states)
        starts = start if isinstance(start, list) else [start]
        entering[starts] = 1 / len(starts)
        kept = np.tile(~np.isin(np.arange(states), list(ends)), times)
        self.flow, self.entering, self.times = flow.tocsr()[kept], entering[kept], times

    def of(self, measure):
        return np.tile(measure[self.pairs[:, 0], self.pairs[:, 1]], self.times)

    def least(self, objective, at_most=(), equal=()):
        """The least total of a measure, with totals of others at most or equal to some numbers."""
        upper = {"A_ub": [self.of(m) for m, _ in at_most], "b_ub": [b for _, b in at_most]} if at_most else {}
        flow = sparse.vstack([self.flow, *(self.of(m)[None] for m, _ in equal)])
        entering = np.concatenate([self.entering, [b for _, b in equal]])
        found = linprog(self.of(objective), A_eq=flow, b_eq=entering, method="highs", **upper)
        return found.fun if found.status == 0 else None


def test_queue():
    page = Page("queue")
    energy, jobs, accepted = (np.asarray(page.measures[name], dtype=float) for name in ("energy", "jobs", "accepted"))
    model = page.occupancies(0.999)
    assert page.shown("feasible: power #") == [
        pytest.approx(0.001 * model.least(energy, [(jobs - 4 * accepted, 0)]), abs=6e-5)
    ]
    arrived = np.full_like(energy, page.arrival)
    served = [(jobs - 10 * accepted, 0), (0.999 * arrived - accepted, 0)]
    [power] = page.shown("with the constraint it takes #")
    assert power == pytest.approx(0.001 * model.least(energy, served), abs=6e-5)


def test_the_slow_queue_is_the_textbooks():
    # Nearly no job finds the queue full, so what is known of one without end holds.
    page = Page("queue")
    slow = page.transitions[1]
    balance = np.vstack([slow.T - np.eye(len(slow)), np.ones(len(slow))])
    stationary = np.linalg.lstsq(balance, np.append(np.zeros(len(slow)), 1), rcond=None)[0]
    assert stationary @ page.jobs / (stationary @ page.accepted[:, 1]) == pytest.approx(6, rel=0.02)
    assert 1 - stationary[0] == pytest.approx(0.8, abs=0.01)


def test_inventory():
    page = Page("inventory")
    model, cost, sold = page.occupancies(0.999), page.measures["cost"], page.measures["sold"]
    assert page.wanted == pytest.approx(2, abs=1e-2)
    shown = page.shown("feasible: # a day; out") + page.shown("feasible: # a day to")
    for found, (missing, most) in zip(
        shown, ((0.95 * page.wanted - sold, 0), (page.measures["stockout"] - 0.03, 0)), strict=True
    ):
        assert found == pytest.approx(0.001 * model.least(cost, [(missing, most)]), abs=6e-5)
    [percent] = page.shown("one percent more: # a day")
    costs = [0.001 * model.least(cost, [(rate * page.wanted - sold, 0)]) for rate in (0.95, 0.951)]
    assert percent == pytest.approx(10 * (costs[1] - costs[0]), abs=1e-3)
    [total] = page.shown("minimize cost: #;")
    assert total == pytest.approx(model.least(cost, [(1.9 - sold, 0)]), abs=1e-4)


def test_dosing():
    page = Page("dosing")
    states = len(page.size)
    # Each state once more, for those to whom toxicity has happened.
    transitions = np.zeros((3, 2 * states, 2 * states))
    entered = np.zeros((3, 2 * states, 2))
    for had in range(2):
        for state in range(states):
            for following in range(states):
                has = max(had, int(page.grade[following] == 2))
                chance = page.transitions[:, state, following]
                transitions[:, had * states + state, has * states + following] += chance
                if page.size[state] not in (0, 6):
                    entered[:, had * states + state, 0] += chance * (page.size[following] == 0)
                    entered[:, had * states + state, 1] += chance * (has - had)
    model = Occupancies(transitions, page.start, 1, horizon=10)
    remission, toxicity = entered[:, :, 0].T, entered[:, :, 1].T
    best, worst = page.shown("remission at toxicity 0.1: #; toxicity for remission 0.8: #")
    assert best == pytest.approx(-model.least(-remission, [(toxicity, 0.1)]), abs=6e-5)
    assert worst == pytest.approx(model.least(toxicity, [(-remission, -0.8)]), abs=6e-5)
    # The nearest point to what is asked for: the distance is that of the sets.
    rho, miss = cvxpy.Variable(model.flow.shape[1], nonneg=True), cvxpy.Variable(2, nonneg=True)
    bounds = [model.of(toxicity) @ rho <= 0.1 + miss[0], model.of(remission) @ rho >= 0.8 - miss[1]]
    programme = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(miss)), [model.flow @ rho == model.entering, *bounds])
    [distance] = page.shown(r"every policy misses the constraints by at least #")
    assert distance == pytest.approx(programme.solve(solver="CLARABEL"), abs=1e-6)


def test_battery():
    page = Page("battery")
    model = page.occupancies(1, ends=(page.ready, page.late))
    cost, wear, ready = page.measures["cost"], page.measures["wear"], page.transitions[:, :, page.ready].T
    often = [(-ready, -0.95)]
    rows = re.findall(r"(?m)^(-?[\d.]+) +([\d.]+) +\d$", page.blocks[-1].output.text)
    assert len(rows) == 6
    for shown in rows:
        # No less wear for this cost, and no less cost for this wear.
        found = [float(number) for number in shown]
        assert found[1] == pytest.approx(model.least(wear, [*often, (cost, found[0] + 1e-7)]), abs=1e-5)
        assert found[0] == pytest.approx(model.least(cost, [*often, (wear, found[1] + 1e-7)]), abs=1e-5)
    [together] = page.shown("cycles, # in all")
    assert together == pytest.approx(model.least(cost + 4 * wear, often), abs=6e-4)


def test_risk():
    page = Page("risk")
    model, gain, square = page.occupancies(1, horizon=page.rounds), page.measures["gain"], page.measures["square"]
    for c in (10.5, 11.5, 12.5, 13.5):
        variance = model.least(square - 2 * c * gain, equal=[(gain, c - 10)]) + (10 - c) ** 2
        assert page.shown(f"mean {c}: standard deviation at least #") == [pytest.approx(np.sqrt(variance), abs=6e-5)]
    [best] = page.shown("maximize gain: #;")
    assert best == pytest.approx(-model.least(-gain, [(square - 24 * gain, 5), (-gain, -2)]), abs=1e-6)


def test_fairness():
    page = Page("fairness")
    model = page.occupancies(0.999)
    a, b, admitted = (page.measures[name] for name in ("a", "b", "admitted"))

    def most(gap):
        return -0.001 * model.least(-admitted, [(a - b - gap, 0), (b - a - gap, 0)])

    for line, gap in (("no bound", 1.0), ("0.1 apart", 0.1), ("equal", 0.0)):
        [shown] = page.shown(f"{line} .*a day #")
        assert shown == pytest.approx(most(gap), abs=6e-5)
    [least] = page.shown("best for the worse .*B #")
    # The largest minimum; what is maximised is at most ln 2/100 below it.
    rho, minimum = cvxpy.Variable(model.flow.shape[1], nonneg=True), cvxpy.Variable()
    rates = [0.001 * model.of(rate) @ rho >= minimum for rate in (a, b)]
    largest = cvxpy.Problem(cvxpy.Maximize(minimum), [model.flow @ rho == model.entering, *rates]).solve(
        solver="CLARABEL"
    )
    assert largest - np.log(2) / 100 <= least <= largest + 1e-6


@pytest.mark.parametrize(("ball", "sides"), [("KLBall", (1, 0)), ("ReverseKLBall", (0, 1))])
def test_expert(ball, sides):
    page = Page("expert")
    model = page.occupancies(1, ends=(page.end,))
    driver = np.array([0.1196, 0.4597, 0.1504, 0.1508, 0.1083, 0.0112])
    rho = cvxpy.Variable(model.flow.shape[1], nonneg=True)
    shares = np.array([model.of(page.measures[style]) for style in page.styles]) @ rho / page.stretches
    pair = (shares, driver)
    divergence = cvxpy.sum(cvxpy.rel_entr(pair[1 - sides[0]], pair[1 - sides[1]]))
    for radius in (0.02, 0.1, 0.5):
        constraints = [model.flow @ rho == model.entering, divergence <= radius]
        least = cvxpy.Problem(cvxpy.Minimize(model.of(page.measures["minutes"]) @ rho), constraints).solve(
            solver="CLARABEL"
        )
        assert page.shown(f"(?m)^{ball} {radius}: # minutes") == [pytest.approx(least, abs=6e-3)]


def test_exploration():
    page = Page("exploration")
    rows = page.hall.split()
    height, width = len(rows), len(rows[0])
    transitions = np.zeros((4, height * width, height * width))
    moves = ((0, -1), (1, 0), (0, 1), (-1, 0))
    for action in range(4):
        for cell in range(height * width):
            for taken, (down, right) in enumerate(moves):
                row = min(max(cell // width + down, 0), height - 1)
                column = min(max(cell % width + right, 0), width - 1)
                transitions[action, cell, row * width + column] += 0.1 / 4 + 0.9 * (taken == action)
    letters = "".join(rows)
    ends = [cell for cell, letter in enumerate(letters) if letter in "HG"]
    model = Occupancies(transitions, letters.index("S"), 0.99, ends=ends)
    # Occupancies divided by their steps: `scale` is one over the steps.
    rho, scale = cvxpy.Variable(model.flow.shape[1], nonneg=True), cvxpy.Variable(nonneg=True)
    visits = np.array([transitions[a, s] for s, a in model.pairs]).T @ rho
    failure = visits[[cell for cell in ends if letters[cell] == "H"]]
    careful = [
        model.flow @ rho == model.entering * scale,
        cvxpy.sum(rho) == 1,
        cvxpy.sum(failure) <= 0.1 * scale,
        15 * scale >= 1,
    ]
    entropy = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.entr(visits))), careful).solve(solver="CLARABEL")
    radius = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(visits - 1 / 60)), careful).solve(solver="CLARABEL")
    assert page.shown("the most spread: *entropy #, at most #") == [pytest.approx(entropy, abs=6e-4)] * 2
    assert page.shown("no policy comes closer to uniform than #") == [pytest.approx(radius, abs=6e-5)]
