"""The pictures of the gallery, from what its pages compute: docs/gallery/pictures.py [NAME...], with appropo[plot].

A page's blocks of Python are run in a folder of their own, and a function here draws what they leave.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, GREEN, GREY = "#2f6fb3", "#d9662b", "#3a8f5c", "#777777"
# A ground of its own makes a picture legible on any page; text as text keeps it small, and ids are the same every time.
plt.rcParams |= {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "svg.hashsalt": "appropo",
    "lines.linewidth": 2,
}


def of_page(name):
    """The names that a page's Python leaves, run without what it prints."""
    text = (HERE / f"{name}.md").read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    for block in re.findall(r"(?ms)^```python\n(.*?)^```", text):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, f"{name}.md", "exec"), names)
    return names


def pair(ratios=(1, 1)):
    return plt.subplots(1, 2, figsize=(8.4, 3.3), layout="constrained", width_ratios=ratios)


def queue(page):
    ap, discount, speeds = page["ap"], page["discount"], page["speeds"]
    figure, (left, right) = pair()
    serving = ap.measure("accepted") >= 0.999 * page["arrival"] * ap.measure("steps")
    seconds = np.array([1.9, 2, 2.1, 2.2, 2.4, 2.6, 2.8, 3, 3.5, 4, 4.5, 5, 5.5, 6])
    best = [
        ap.minimize(ap.Problem(page["model"], [*page["patient"](s).constraints, serving], discount=discount), "energy")
        for s in seconds
    ]
    left.plot(seconds, [result.value * (1 - discount) for result in best], color=BLUE)
    left.plot(4, page["best"].value * (1 - discount), "o", color=ORANGE)
    left.set(xlabel="mean time in the system allowed, s", ylabel="power", title="the least power for a bound")
    jobs = np.arange(9)
    for seconds, colour in ((2.5, GREEN), (4, ORANGE), (5.5, BLUE)):
        one = ap.minimize(page["patient"](seconds), "energy").distil().policy
        one.reset(seed=0)
        done = [speed[0] for speed in speeds.values()]
        mean = [np.mean([done[int(one.predict(n)[0])] for _ in range(1000)]) for n in jobs]
        right.step(jobs, mean, where="mid", color=colour, label=f"at most {seconds} s")
    right.set(xlabel="jobs in the system", title="jobs done a second", yticks=[0, 0.5, 0.8])
    right.legend(frameon=False, loc="lower right")
    return figure


def inventory(page):
    ap = page["ap"]
    figure, (left, right) = pair()
    rates = np.array([0.8, 0.85, 0.9, 0.93, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995])
    found = [ap.minimize(page["shop"](page["fill_rate"](rate)), "cost") for rate in rates]
    costs = [page["per_day"](result) for result in found]
    left.plot(100 * rates, costs, color=BLUE)
    here = page["per_day"](page["best"])
    across = np.array([91, 99])
    left.plot(across, here + (across - 95) * page["percent"], "--", color=ORANGE, label="its price at 95%")
    left.plot(95, here, "o", color=ORANGE)
    left.set(xlabel="fill rate, %", ylabel="cost a day", title="the least cost for a service level")
    left.legend(frameon=False)
    orders = np.full((len(page["sizes"]), page["room"] + 1), np.nan)
    for (held, coming), sizes in ordered(page, page["best"].distil().policy).items():
        orders[page["sizes"].index(coming), held] = np.mean(sizes)
    right.set_facecolor("#e4e4e4")
    image = right.imshow(orders, cmap="Blues", aspect="auto", origin="lower", vmin=0, vmax=9)
    right.set(
        xlabel="on hand",
        ylabel="on its way",
        yticks=range(4),
        yticklabels=page["sizes"],
        title="what is ordered (grey: never there)",
    )
    right.spines[:].set_visible(False)
    figure.colorbar(image, ax=right, ticks=page["sizes"])
    return figure


def ordered(page, policy, days=20_000):
    """What is ordered in the states that the shop comes to."""
    rng, found = np.random.default_rng(0), {}
    key_of = {state: key for key, state in page["place"].items()}
    policy.reset(seed=0)
    state = page["start"]
    for _ in range(days):
        action = int(policy.predict(state)[0])
        found.setdefault(key_of[state], []).append(page["sizes"][action])
        state = int(rng.choice(len(key_of), p=page["transitions"][action, state]))
    return found


def dosing(page):
    ap, trial, remission, toxicity = (page[name] for name in ("ap", "trial", "remission", "toxicity"))
    figure, (left, right) = pair()
    bounds = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.45])
    values = [ap.maximize(trial(toxicity <= bound), remission).value for bound in bounds]
    left.fill_between(bounds, values, color=BLUE, alpha=0.15, linewidth=0)
    left.plot(bounds, values, color=BLUE)
    left.fill_between([0, 0.1], 0.8, 1, color=ORANGE, alpha=0.3, linewidth=0)
    left.annotate("asked for", (0.05, 0.9), ha="center", va="center")
    left.annotate("can be had", (0.28, 0.5), ha="center", color=BLUE)
    nearest = page["result"].nearest
    left.plot(nearest["reach(toxicity)"], nearest["reach(remission)"], "o", color=ORANGE)
    left.set(
        xlim=(0, 0.45),
        ylim=(0.3, 1),
        xlabel="severe toxicity",
        ylabel="remission",
        title="probabilities that go together",
    )
    for cycles, colour in ((6, GREEN), (8, ORANGE), (10, BLUE), (14, GREY)):
        problems = [ap.Problem(page["patient"], [toxicity <= bound], discount=1, horizon=cycles) for bound in bounds]
        right.plot(
            bounds,
            [ap.maximize(problem, remission).value for problem in problems],
            color=colour,
            label=f"{cycles} cycles",
        )
    right.set(
        xlim=(0, 0.45), ylim=(0.3, 1), xlabel="severe toxicity allowed", title="remission, by the length of treatment"
    )
    right.legend(frameon=False, loc="lower right")
    return figure


def battery(page):
    figure, (left, right) = pair()
    vertices = page["front"].vertices
    left.plot(vertices[:, 1], vertices[:, 0], ".-", color=BLUE)
    chosen = (0, int(page["together"].argmin()), len(vertices) - 1)
    for place, colour in zip(chosen, (GREEN, ORANGE, GREY), strict=True):
        left.plot(vertices[place, 1], vertices[place, 0], "o", color=colour, markersize=8)
        right.plot(18 + np.arange(14), charges(page, page["front"].policy(place)), color=colour)
    left.set(xlabel="wear, cycles", ylabel="cost of power", title="no night lies below the line")
    hours = np.arange(18, 32, 3)
    right.set(
        xticks=hours,
        xticklabels=[f"{hour % 24}:00" for hour in hours],
        ylabel="charge, %",
        title="mean charge over the night",
    )
    price = right.twinx()
    price.step(18 + np.arange(13), 100 * page["price"], where="post", color=GREY, linewidth=1, linestyle=":")
    price.set(ylabel="cents a kWh (dotted)", ylim=(0, 60))
    price.spines["right"].set_visible(True)
    return figure


def charges(page, policy, nights=400):
    """The mean charge by the hour, of those cars that are still there."""
    rng, total, count = np.random.default_rng(0), np.zeros(14), np.zeros(14)
    state_of = {state: key for key, state in page["place"].items()}
    policy.reset(seed=0)
    for _ in range(nights):
        state, first = int(rng.choice(page["start"])), True
        for hour in range(14):
            if state in state_of:
                charge = state_of[state][1]
                total[hour] += 10 * charge
                count[hour] += 1
                choice = int(policy.predict(state, episode_start=first)[0])
                # A policy counts the choices that the state has.
                action = np.flatnonzero(page["transitions"][:, state].sum(axis=1))[choice]
                change = list(page["actions"].values())[action][0]
                state, first = int(rng.choice(len(page["transitions"][0]), p=page["transitions"][action, state])), False
            elif hour and state is not None:
                total[hour] += 10 * (charge + change)
                count[hour] += 1
                break
    return total / np.maximum(count, 1)


def risk(page):
    ap, gain = page["ap"], page["gain"]
    figure, (left, right) = pair()
    means, deviations = np.array(page["frontier"]).T
    left.fill_betweenx(means, deviations, 8, color=BLUE, alpha=0.15, linewidth=0)
    left.plot(deviations, means, color=BLUE)
    left.plot([3], [12], "o", color=ORANGE)
    left.set(xlabel="standard deviation", ylabel="mean", title="the efficient frontier", xlim=(0, 7))
    for c, colour in ((11, GREEN), (12, ORANGE), (14, BLUE)):
        problem = ap.Problem(page["model"], [gain == c - page["start"]], discount=1, horizon=page["rounds"])
        best = ap.minimize(problem, page["around"](c)[0])
        pairs = final(page, best.policy)[:-1].reshape(-1, 2).sum(axis=1)
        right.stairs(pairs, np.arange(0, 21, 2), color=colour, label=f"mean {c}", linewidth=2)
    right.set(xlabel="final wealth", title="its distribution", yticks=[])
    right.legend(frameon=False)
    return figure


def final(page, policy, episodes=4000):
    rng, counts = np.random.default_rng(0), np.zeros(page["top"] + 1)
    policy.reset(seed=0)
    for _ in range(episodes):
        held = page["start"]
        for turn in range(page["rounds"]):
            stake = int(policy.predict(held, episode_start=turn == 0)[0])
            held += stake if rng.random() < page["wins"] else -stake
        counts[held] += 1 / episodes
    counts[-2] += counts[-1]
    return counts


def fairness(page):
    ap, ward = page["ap"], page["ward"]
    figure, (left, right) = pair()
    gaps = np.linspace(0, 0.55, 23)
    rates = np.array([page["rates"](ap.maximize(ward(page["apart"](gap)), "admitted")) for gap in gaps])
    left.plot(gaps, rates[:, 0], color=BLUE, label="A")
    left.plot(gaps, rates[:, 1], color=ORANGE, label="B")
    left.set(xlabel="gap allowed", ylabel="admitted of those who ask", title="rates of both groups", ylim=(0, 1))
    left.legend(frameon=False, loc="lower left")
    right.plot(gaps, rates[:, 2], color=GREEN)
    right.plot(0.1, np.interp(0.1, gaps, rates[:, 2]), "o", color=GREEN)
    right.set(xlabel="gap allowed", ylabel="admissions a day", title="the price of fairness")
    return figure


def expert(page):
    figure, (left, right) = pair()
    ap = page["ap"]
    radii = np.array([0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1])
    found = [page["quickest"](ap.KLBall, radius) for radius in radii]
    held = [result.verdict == "feasible" for result in found]
    radii, found = radii[held], [result for result in found if result.verdict == "feasible"]
    left.semilogx(radii, [result.value for result in found], color=BLUE)
    left.axhline(page["minutes"], color=GREY, linestyle=":", linewidth=1)
    left.annotate("the driver", (radii[-1], page["minutes"]), ha="right", va="bottom", color=GREY)
    left.set(xlabel="radius, nats", title="minutes, and harsh brakings (orange)", ylim=(30, 39.5))
    beside = left.twinx()
    beside.plot(radii, [result.measurements["braking"] for result in found], color=ORANGE)
    beside.set(ylim=(0, 2))
    beside.tick_params(colors=ORANGE)
    across = np.arange(6)
    shown = {"driver": page["driver"]}
    for radius in (0.1, 0.5):
        best = page["quickest"](ap.KLBall, radius)
        shown[f"within {radius}"] = [best.measurements[style] / page["stretches"] for style in page["styles"]]
    for place, ((name, shares), colour) in enumerate(zip(shown.items(), (GREY, BLUE, ORANGE), strict=True)):
        right.bar(across + 0.27 * (place - 1), shares, width=0.27, color=colour, label=name)
    names = [style.replace("_", "\n") for style in page["styles"]]
    right.set(title="share of stretches", xticks=across, xticklabels=names)
    right.legend(frameon=False)
    return figure


def exploration(page):
    figure, axes = plt.subplots(1, 3, figsize=(8.4, 2.4), layout="constrained")
    rows = page["hall"].split()
    maps = {"shortest tour": "shortest", "within 0.12 of uniform": "result", "largest entropy": "spread"}
    for axis, (title, name) in zip(axes, maps.items(), strict=True):
        shares = 100 * page["shares"](page[name]).reshape(6, 10)
        image = axis.imshow(shares, cmap="Blues", vmin=0, vmax=6)
        for row, line in enumerate(rows):
            for column, letter in enumerate(line):
                if letter != "F":
                    shown = {"H": "#"}.get(letter, letter)
                    dark = "white" if shares[row, column] > 3.5 else "black"
                    axis.annotate(shown, (column, row), ha="center", va="center", color=dark, fontsize=9)
        axis.set(title=title, xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="% of the time", shrink=0.9)
    return figure


def tip(observation):
    return observation[..., 6:8] - observation[..., 8:10]


def episodes(world, policy, count, horizon):
    """What is seen in some episodes, and what each measured in its last step."""
    env = world(horizon=horizon)
    policy.reset(seed=0)
    for seed in range(count):
        observation, _ = env.reset(seed=seed)
        seen, over = [observation], False
        while not over:
            action, _ = policy.predict(observation, episode_start=len(seen) == 1)
            observation, _, terminated, truncated, info = env.step(action)
            seen.append(observation)
            over = terminated or truncated
        yield np.array(seen), info["z"]


def arm(page):
    from appropo.gym import World

    ap = page["ap"]
    figure, (left, right) = pair()
    for seen, _ in episodes(lambda **settings: World("arm", **settings), page["result"].policy, 6, 60):
        ways = tip(seen)
        [line] = left.plot(ways[:, 0], ways[:, 1])
        left.plot(*seen[0, 6:8], "x", color=line.get_color(), markersize=9, markeredgewidth=2.5)
        left.plot(*ways[0], "o", color=line.get_color(), markersize=4)
    left.plot(0, 0, "s", color="black")
    left.set(aspect="equal", xlim=(-0.1, 1), title="ways of the tip to targets (×)", xlabel="m", ylabel="m")
    free = ap.maximize(
        ap.Problem(ap.BuiltIn("arm", {"horizon": 60}), discount=1),
        "reward",
        method="lagrangian",
        oracle="ppo",
        samples=200_000,
    )
    for policy, name, colour in ((page["result"].policy, "with bounds", ORANGE), (free.policy, "without", BLUE)):
        all_seen = np.array(
            [seen for seen, _ in episodes(lambda **settings: World("arm", **settings), policy, 200, 60)]
        )
        speed = np.linalg.norm(np.diff(tip(all_seen), axis=1), axis=2) / 0.05
        right.plot(np.arange(60) / 20, speed.mean(axis=0), color=colour, label=name)
    right.set(xlabel="seconds", title="mean speed of the tip, m/s")
    right.legend(frameon=False)
    return figure


def lander(page):
    from appropo.gym import World

    figure, (left, right) = pair()
    for seen, measured in episodes(lambda **settings: World("lander", **settings), page["best"].policy, 14, 100):
        colour = BLUE if measured["landed"] else ORANGE
        left.plot(10 * seen[:, 0], 10 * seen[:, 1], color=colour, linewidth=1.3)
        right.plot(5 * seen[:, 3], 10 * seen[:, 1], color=colour, linewidth=1.3)
    left.plot([-5, 5], [0, 0], color="black", linewidth=4, solid_capstyle="butt")
    left.set(
        xlabel="m beside the middle of the pad", ylabel="height, m", title="descents (orange: crashed)", ylim=(-1, 23)
    )
    right.axvline(-2, color=GREY, linestyle=":", linewidth=1)
    right.set(xlabel="speed upwards, m/s", title="height against speed; soft is right of the dots", ylim=(-1, 23))
    return figure


DRAWN = (queue, inventory, dosing, battery, exploration, expert, risk, fairness, arm, lander)


def main():
    wanted = sys.argv[1:] or [draw.__name__ for draw in DRAWN]
    for draw in DRAWN:
        if draw.__name__ not in wanted:
            continue
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                figure = draw(of_page(draw.__name__))
            finally:
                os.chdir(before)
        figure.savefig(HERE / f"{draw.__name__}.svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
