"""Steps per second of Stable-Baselines3's A2C on the Mars rover, learning included.

Prints one number. `stable_baselines3.sh` sets it beside our own.
"""

import random
import time
from pathlib import Path

import gymnasium
import numpy
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv

MAP = Path(__file__).parent / "../crates/appropo/src/env/maps/rover_8x8.txt"
ENVIRONMENTS = 8
HIDDEN = 128
SLIP = 0.05
STEP_REWARD = -0.01
ROCK_REWARD = -1.0  # a fixed λ: one failure costs one unit of reward
HORIZON = 300
WARM_UP_STEPS = 4_000
TIMED_STEPS = 40_000

ROWS = MAP.read_text().split()
CELLS = "".join(ROWS)
START = CELLS.index("S")


def entered_cell(cell, move):
    height, width = len(ROWS), len(ROWS[0])
    row = min(max(cell // width + move[0], 0), height - 1)
    column = min(max(cell % width + move[1], 0), width - 1)
    return row * width + column


MOVES = [(0, -1), (1, 0), (0, 1), (-1, 0)]  # left, down, right, up
NEXT_CELL = [[entered_cell(cell, move) for move in MOVES] for cell in range(len(CELLS))]
# Ready-made rows, so that a step costs the world next to nothing.
ONE_HOT = list(numpy.eye(len(CELLS), dtype=numpy.float32))


class Rover(gymnasium.Env):
    # One-hot rows: a Discrete space, which A2C would expand itself, is measured slower.
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (len(CELLS),), numpy.float32)
    action_space = gymnasium.spaces.Discrete(len(MOVES))

    def __init__(self):
        self.random = random.Random()

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.random.seed(seed)
        self.cell = START
        self.steps = 0
        return ONE_HOT[START], {}

    def step(self, action):
        if self.random.random() < SLIP:
            action = self.random.randrange(len(MOVES))
        self.cell = NEXT_CELL[self.cell][action]
        self.steps += 1
        entered = CELLS[self.cell]
        ended = entered in "HG"
        reward = STEP_REWARD
        if ended:
            reward = ROCK_REWARD if entered == "H" else 0.0
        return ONE_HOT[self.cell], reward, ended, self.steps >= HORIZON and not ended, {}


class SharedLayer(BaseFeaturesExtractor):
    """The hidden layer under both heads.

    `net_arch=[128]` would give the policy and the value a layer each, twice the work.
    """

    def __init__(self, observation_space):
        super().__init__(observation_space, features_dim=HIDDEN)
        self.layer = torch.nn.Sequential(torch.nn.Linear(len(CELLS), HIDDEN), torch.nn.ReLU())

    def forward(self, observations):
        return self.layer(observations)


def main():
    torch.set_num_threads(1)
    model = A2C(
        "MlpPolicy",
        DummyVecEnv([Rover] * ENVIRONMENTS),
        learning_rate=1e-2,
        policy_kwargs={"features_extractor_class": SharedLayer, "net_arch": []},
        seed=0,
        device="cpu",
    )
    model.learn(WARM_UP_STEPS)
    begun = time.perf_counter()
    model.learn(TIMED_STEPS)
    print(round(TIMED_STEPS / (time.perf_counter() - begun)))


if __name__ == "__main__":
    main()
