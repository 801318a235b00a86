"""Oracles from outside: any object that answers λ with a policy, and Stable-Baselines3's algorithms.

An oracle has a method ``respond(lam)``. ``lam`` weighs every entry of the measurement vector, in the order of
``problem.measures``; the answer is a policy for the reward ``-lam @ z`` and its long-term measurement, or one row for
each of several episodes that it played. A policy has ``predict(observation)`` as those of Stable-Baselines3 have, or is
a function of the observation. To keep a run's policies, the oracle has ``save_policy(policy)``, which returns arrays by
name, and ``load_policy(arrays)``, which makes the policy again.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._appropo import Network, ProblemError, RunError, WorldError
from .arguments import numbers, shown, text, whole
from .environments import Played
from .extras import needed
from .spaces import chooser, flattened

if TYPE_CHECKING:
    from .problem import Problem


#: The array with the number of a policy that only this process has.
_KEPT = "number"


class Asked:
    """An oracle as the solver asks it."""

    def __init__(self, oracle: Any, problem: Problem) -> None:
        if isinstance(oracle, type) or not callable(getattr(oracle, "respond", None)):
            raise ProblemError(f"oracle is {shown(oracle)}; expected a name, or an object with respond(lam)")
        self._oracle = oracle
        self._problem = problem
        self._takes_offset = len(inspect.signature(oracle.respond).parameters) > 1
        #: Policies of oracles that don't say what theirs are made of, for as long as this lives.
        self._kept: list[Any] = []
        if hasattr(oracle, "bind"):
            oracle.bind(problem)

    def respond(self, lam: NDArray[np.float64], offset: float) -> tuple[Any, NDArray[np.float64], int]:
        """The policy, rows of measurements, and the steps taken so far."""
        answer = self._oracle.respond(lam, offset) if self._takes_offset else self._oracle.respond(lam)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise ProblemError(f"respond() returned {type(answer).__name__}; expected (policy, z_hat)")
        policy, z_hat = answer
        rows = np.atleast_2d(numbers("z_hat", z_hat))
        if rows.ndim != 2 or not rows.size:
            raise ProblemError(
                f"z_hat has shape {np.shape(z_hat)}; expected one measurement, or a row for each episode"
            )
        samples = whole("the oracle's samples", getattr(self._oracle, "samples", 0), least=0)
        return (policy if isinstance(policy, Network) else self._acting(policy)), np.ascontiguousarray(rows), samples

    def revive(self, tensors: dict[str, NDArray[np.float32]]) -> Any:
        """The policy that was made of these arrays."""
        if hasattr(self._oracle, "load_policy"):
            return self._acting(self._oracle.load_policy(tensors))
        number = int(tensors[_KEPT][0]) if _KEPT in tensors else len(self._kept)
        if number >= len(self._kept):
            raise RunError(f"{type(self._oracle).__name__} has no load_policy(arrays), so its policies can't be loaded")
        return self._acting(self._kept[number])

    def _acting(self, policy: Any) -> Acting:
        return Acting(policy, self._oracle, self._problem._played(), self._kept)


class Acting:
    """A policy of Python's as the solver acts with it."""

    def __init__(self, policy: Any, oracle: Any, played: Played, kept: list[Any]) -> None:
        self._policy = policy
        self._kept = kept
        self._oracle = oracle
        self._seen, self._chosen = played.observed.unflatten, chooser(played.env.action_space)
        self._predict = getattr(policy, "predict", None)
        if self._predict is None and not callable(policy):
            raise ProblemError(
                f"the policy is {shown(policy)}; expected a function of the observation, or predict(observation)"
            )

    def act(self, observation: NDArray[np.float64], step: int, seed: int) -> Any:
        """The action, flat. The seed is new at the start of every episode."""
        if step == 0 and hasattr(self._oracle, "seed_policy"):
            self._oracle.seed_policy(self._policy, seed)
        seen = self._seen(observation)
        if self._predict is None:
            return self._chosen(self._policy(seen))
        answer = self._predict(seen)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise WorldError(f"the policy's predict() returned {shown(answer)}; expected (action, state)")
        return self._chosen(answer[0])

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """What it is made of; where its oracle does not say, a number under which it is kept."""
        if not hasattr(self._oracle, "save_policy"):
            self._kept.append(self._policy)
            return {_KEPT: np.array([len(self._kept) - 1], dtype=np.float32)}
        arrays = self._oracle.save_policy(self._policy)
        if not isinstance(arrays, Mapping):
            raise ProblemError(f"save_policy() returned {shown(arrays)}; expected a dictionary of arrays")
        return {
            text("the name of an array", name): numbers(f'array "{name}"', array, finite=False).astype(np.float32)
            for name, array in arrays.items()
        }


class SB3:
    """An algorithm of Stable-Baselines3 as the oracle: ``SB3(PPO, steps=20_000, learning_rate=1e-3)``.

    It learns for the reward ``-lam @ z``, at most ``steps`` at a time and no longer than it takes for the mean of its
    last 25 episodes to be good enough, and goes on from there with the next λ. ``episodes`` fresh ones then measure the
    policy. Other arguments go to the algorithm. Policies made of plain layers become networks of appropo, which need no
    PyTorch to act and can be exported. Needs the extra ``appropo[sb3]``.
    """

    def __init__(
        self,
        algorithm: Any,
        policy: str = "MlpPolicy",
        *,
        steps: int = 25_000,
        episodes: int = 25,
        envs: int = 1,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.samples = 0
        self._algorithm, self._policy = algorithm, policy
        self._steps, self._episodes, self._envs, self._seed = steps, episodes, envs, seed
        self._settings = settings
        self._problem: Problem | None = None
        self._model: Any = None

    def bind(self, problem: Problem) -> None:
        """Learns in the world of a problem from now on."""
        if self._problem is problem:
            return
        with needed("sb3"):
            from stable_baselines3.common.vec_env import DummyVecEnv

        self._problem = problem
        self._worlds = [_Rewarded(problem._played(), problem._horizon) for _ in range(self._envs)]
        self._judge = _Rewarded(problem._played(), problem._horizon)
        self._judge.reset(seed=self._seed + 1_000_003)
        self._model = self._algorithm(
            self._policy, DummyVecEnv([lambda env=env: env for env in self._worlds]), seed=self._seed, **self._settings
        )

    def respond(self, lam: NDArray[np.float64], offset: float) -> tuple[Any, NDArray[np.float64]]:
        """Learns for the reward -lam @ z."""
        assert self._problem is not None
        recent = [row for world in self._worlds for row in world.sums[-25:]]
        size = np.sqrt(np.mean(np.sum((np.asarray(recent) * lam) ** 2, axis=1))) if recent else 0.0
        for world in self._worlds:
            world.gamma = self._problem._discount
            world.weights = -lam / max(float(np.linalg.norm(lam)), float(size) / 3, 1e-300)
            world.sums.clear()
        started = self._model.num_timesteps
        chunk = max(256, getattr(self._model, "n_steps", 256) * self._envs)
        while self._model.num_timesteps - started < self._steps:
            self._model.learn(chunk, reset_num_timesteps=False)
            ended = [row for world in self._worlds for row in world.sums[-25:]]
            if len(ended) >= 25 and float(np.mean(np.asarray(ended) @ lam)) <= offset:
                break
        self.samples += self._model.num_timesteps - started
        rows = [self._episode() for _ in range(self._episodes)]
        return self._frozen(), np.asarray(rows)

    def _episode(self) -> NDArray[np.float64]:
        """Plays a fresh episode."""
        assert self._problem is not None
        self._judge.gamma = self._problem._discount
        observation, _ = self._judge.reset()
        over = False
        while not over:
            action, _ = self._model.predict(observation)
            observation, _, terminated, truncated, _ = self._judge.step(action)
            over = terminated or truncated
            self.samples += 1
        return np.asarray(self._judge.sums.pop())

    def _frozen(self) -> Any:
        """A copy of the policy as it is now."""
        network = _network(self._model.policy)
        return network if network is not None else self.load_policy(self.save_policy(self._model.policy))

    def save_policy(self, policy: Any) -> dict[str, NDArray[np.float32]]:
        """The parameters of a policy."""
        return {name: tensor.detach().cpu().numpy() for name, tensor in policy.state_dict().items()}

    def load_policy(self, arrays: dict[str, NDArray[np.float32]]) -> Any:
        """A policy of these parameters."""
        import torch

        kinds = {name: tensor.dtype for name, tensor in self._model.policy.state_dict().items()}
        policy = type(self._model.policy)(**self._model.policy._get_constructor_parameters())
        policy.load_state_dict({name: torch.as_tensor(a.copy()).to(kinds[name]) for name, a in arrays.items()})
        policy.set_training_mode(False)
        return policy

    def seed_policy(self, policy: Any, seed: int) -> None:
        """Makes what is drawn in an episode depend on its seed alone."""
        import torch

        torch.manual_seed(seed % 2**63)


class _Rewarded:
    """An environment with the reward weights·z, made a Gymnasium environment where it is used."""

    def __new__(cls, played: Played, horizon: int | None) -> Any:
        import gymnasium

        class Rewarded(gymnasium.Env[Any, Any]):
            observation_space = played.env.observation_space
            action_space = played.env.action_space
            weights: Any = 0.0
            gamma = 1.0

            def __init__(self) -> None:
                #: Σ γⁱ zᵢ of the episodes that are over.
                self.sums: list[NDArray[np.float64]] = []

            def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
                played.reset(seed)
                self._sum, self._steps, self._factor = np.zeros(0), 0, 1.0
                return played.last, {}

            def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
                step = played.taken(action)
                z = np.concatenate([np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in played.measured(step)])
                self._sum = self._factor * z + (self._sum if self._steps else 0.0)
                self._factor *= self.gamma
                self._steps += 1
                truncated = bool(step.truncated) or horizon is not None and self._steps >= horizon
                if step.terminated or truncated:
                    self.sums.append(self._sum)
                reward = float(np.dot(self.weights, z)) if np.ndim(self.weights) else 0.0
                return step.observation, reward, bool(step.terminated), truncated, {}

        return Rewarded()


def _network(policy: Any) -> Network | None:
    """A policy of Stable-Baselines3 as a network of ours, where it is made of plain layers."""
    from gymnasium.spaces import Discrete
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.torch_layers import FlattenExtractor
    from torch import nn

    if type(policy) is not ActorCriticPolicy or type(policy.features_extractor) is not FlattenExtractor:
        return None
    if not isinstance(policy.action_net, nn.Linear) or policy.use_sde:
        return None
    counts = isinstance(policy.observation_space, Discrete)
    # The network takes numbers that our policies are not shown.
    if flattened(policy.observation_space).size != flattened(policy.observation_space, counts=False).size:
        return None
    linear = [layer for layer in policy.mlp_extractor.policy_net if isinstance(layer, nn.Linear)]
    between = {type(layer) for layer in policy.mlp_extractor.policy_net} - {nn.Linear}
    names = {nn.Tanh: "tanh", nn.ReLU: "relu"}
    if len(between) > 1 or not between <= set(names):
        return None
    activation = names[between.pop()] if between else "tanh"
    layers = [
        (layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy().tolist())
        for layer in [*linear, policy.action_net]
    ]
    if hasattr(policy.action_space, "n"):
        return Network(layers, activation, counts)
    if policy.squash_output or not hasattr(policy, "log_std"):
        return None
    low, high = policy.action_space.low.ravel(), policy.action_space.high.ravel()
    bounds = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    return Network(layers, activation, counts, (bounds, policy.log_std.detach().cpu().numpy().tolist()))
