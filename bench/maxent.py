"""Maximum-entropy exploration of Gymnasium's mountain car, beside acting at random.

The shares of time in the cells of a grid over position and velocity are to be as even as possible. For three sizes of the
mixture, prints the entropy of fresh episodes of it, and that of as many episodes of a policy that acts at random.

Usage: python bench/maxent.py [SEED...]
"""

import sys

import appropo as ap
import gymnasium as gym
import numpy as np

CELLS = (12, 10)
LOW, HIGH = np.array([-1.2, -0.07]), np.array([0.6, 0.07])
SIZES = (5, 10, 20)
SAMPLES_A_POLICY = 10_000
EPISODES = 100


def visits(transition):
    """One where the cell is that of the observation."""
    place = (np.asarray(transition.observation) - LOW) / (HIGH - LOW) * CELLS
    row, column = np.clip(place.astype(int), 0, np.array(CELLS) - 1)
    cells = np.zeros(CELLS)
    cells[row, column] = 1.0
    return cells.ravel()


def entropy(counts):
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def at_random(seed):
    env, counts = gym.make("MountainCar-v0"), np.zeros(CELLS)
    env.action_space.seed(seed)
    for episode in range(EPISODES):
        observation, _ = env.reset(seed=1000 * seed + episode)
        ended = False
        while not ended:
            place = ((observation - LOW) / (HIGH - LOW) * CELLS).astype(int)
            counts[tuple(np.clip(place, 0, np.array(CELLS) - 1))] += 1
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            ended = terminated or truncated
    return entropy(counts)


def main(seeds):
    problem = ap.Problem("MountainCar-v0", measure={"visits": visits}, discount=1.0, horizon=200)
    for seed in seeds:
        print(f"seed {seed}: at random {at_random(seed):.3f} of at most {np.log(np.prod(CELLS)):.3f}")
        for size in SIZES:
            found = ap.maximize(
                problem,
                ap.entropy("visits", share=True),
                method=ap.Maxent(),
                oracle=ap.PPO(),
                rounds=size,
                samples=size * SAMPLES_A_POLICY,
                evaluation_samples=200 * EPISODES,
                seed=seed,
            )
            counts = found.measurements["visits"]
            print(f"  {size} policies, {found.samples} samples: {entropy(counts):.3f}", flush=True)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [0, 1, 2])
