from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex, final
from typing_extensions import disjoint_base

@disjoint_base
class ConvexSet:
    """
    A closed convex set, known by its projection.
    """
    def __new__(cls, /, line: str, dim: SupportsIndex) -> ConvexSet:
        """
        The set that a line of a problem file states, such as `at_most = 0.2`.
        """
    def contains(self, /, x: Incomplete, tolerance: SupportsFloat | SupportsIndex = 1e-9) -> Any:
        """
        Whether a vector lies in the set, or every row of an array, up to a tolerance.
        """
    @property
    def dim(self, /) -> int:
        """
        Entries of its points.
        """
    def distance(self, /, x: Incomplete) -> Any:
        """
        The Euclidean distance of a vector from the set, or of every row of an array.
        """
    @staticmethod
    def from_projection(dim: SupportsIndex, project: Any, requirement: str) -> ConvexSet:
        """
        A set of one's own: `project(x)` returns its point nearest to x.
        """
    @staticmethod
    def intersection(parts: SupportsGetItem[int, ConvexSet]) -> ConvexSet:
        """
        What lies in all of the sets.
        """
    @property
    def line(self, /) -> str | None:
        """
        As a line of a problem file, where a file can hold it.
        """
    @staticmethod
    def product(blocks: SupportsGetItem[int, ConvexSet]) -> ConvexSet:
        """
        The sets side by side: x is cut into their blocks.
        """
    def project(self, /, x: Incomplete) -> Incomplete:
        """
        The nearest point of the set: of one vector, or of every row of an array.
        """
    @property
    def requirement(self, /) -> str:
        """
        What its points satisfy, in words.
        """
    def scaled(self, /, factor: SupportsFloat | SupportsIndex) -> ConvexSet:
        """
        The set with every point multiplied by a positive number.
        """
    def share(self, /) -> ConvexSet:
        """
        The cone {(x, t) : x/t in the set, t > 0} with its limits: what a share a step must satisfy.
        """
    def shifted(self, /, by: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> ConvexSet:
        """
        The set moved by a vector.
        """

@final
class Model:
    """
    A world with finitely many states and actions whose probabilities are known.
    """
    def __new__(cls, /, states: SupportsIndex, actions: SupportsIndex, measures: SupportsGetItem[int, tuple[str, SupportsIndex]], start: SupportsGetItem[int, tuple[SupportsIndex, SupportsFloat | SupportsIndex]], ends: SupportsGetItem[int, SupportsIndex], outcomes: SupportsGetItem[int, tuple[SupportsIndex, SupportsIndex, SupportsFloat | SupportsIndex, SupportsIndex, SupportsGetItem[int, SupportsFloat | SupportsIndex]]]) -> Model:
        """
        A model from all that can happen. Entering one of the states `ends` ends the episode.
        """
    @property
    def actions(self, /) -> int:
        """
        Number of actions.
        """
    @property
    def states(self, /) -> int:
        """
        Number of states.
        """

@final
class Network:
    """
    A policy given by a network of Python's: layers with one activation between them, and then an output an action, or
    the mean of each number of an action.
    """
    def __new__(cls, /, layers: SupportsGetItem[int, tuple[Incomplete, SupportsGetItem[int, SupportsFloat | SupportsIndex]]], activation: str, counts: bool, gaussian: tuple[SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], SupportsGetItem[int, SupportsFloat | SupportsIndex]] | None = None) -> Network:
        """
        `layers` are pairs of a matrix with one row an output, and biases; the last of them gives the outputs. `counts`
        says that observations are counted and stand for one of the first layer's inputs.
        """

@final
class Policy:
    """
    The policies of a mixture.
    """
    def act(self, /, number: SupportsIndex, observation: SupportsGetItem[int, SupportsFloat | SupportsIndex], step: SupportsIndex, deterministic: bool) -> Incomplete:
        """
        What a policy does, given what is seen at a step of its episode.
        """
    @property
    def actions(self, /) -> Any:
        """
        What can be done: a number of actions, or the bounds of each number.
        """
    def draw(self, /) -> int:
        """
        The number of the policy for the next episode, drawn by the weights.
        """
    @property
    def observations(self, /) -> Any:
        """
        What is seen: a number of states, or the bounds of each number.
        """
    def seed(self, /, seed: SupportsIndex) -> None:
        """
        Draws from this seed from now on.
        """
    @property
    def weights(self, /) -> Incomplete:
        """
        The probability of each policy.
        """

@final
class Session:
    """
    A problem with the world and the sets that Python gives it.
    """
    def __new__(cls, /, name: str, text: str, world: Model | Incomplete | None = None, sets: dict[str, ConvexSet] = ..., oracle: Any | None = None) -> Session:
        """
        Reads a problem. `world` is a model, or says how to make a world; `sets` are those that the text names.
        """
    def evaluate(self, /, folder: str, episodes: SupportsIndex, seed: SupportsIndex) -> str:
        """
        What fresh episodes of a run's policy measure, as JSON.
        """
    def export(self, /, folder: str, file: str) -> str:
        """
        Writes a run's networks as ONNX files.
        """
    @property
    def grid(self, /) -> list[str] | None:
        """
        The map, where the states are cells of one.
        """
    @property
    def measures(self, /) -> list[tuple[str, int]]:
        """
        Names and numbers of entries of the measures.
        """
    def optimize(self, /, measure: str, sign: SupportsFloat | SupportsIndex) -> tuple[str, Policy]:
        """
        The optimum of a measure subject to the constraints, as JSON, with the policy.
        """
    def policy(self, /, folder: str | PathLike[str]) -> Policy:
        """
        The mixed policy of a run.
        """
    def report(self, /, folders: SupportsGetItem[int, str]) -> str:
        """
        The page of a run, or the comparison of several.
        """
    def resolved(self, /) -> str:
        """
        The problem as a file with every default written out.
        """
    def solve(self, /, folder: str | PathLike[str], resume: bool, every: SupportsFloat | SupportsIndex, observe: Any | None) -> bool:
        """
        Solves the problem and writes the run into a folder, or goes on with the run that is there. After every round
        `observe(line)` is called, unless it is None; it stops the run by returning False. Returns whether Ctrl-C ended
        it.
        """
    def table(self, /, folder: str | PathLike[str]) -> tuple[list[list[str]], list[str]]:
        """
        The constraints of a run (name, measure, value, requirement, slack, whether it holds), and remarks on its end.
        """
    def verify(self, /, folder: str, seed: SupportsIndex | None) -> tuple[str, bool]:
        """
        What was checked of a run's claim, and whether it holds.
        """
    def world(self, /) -> World:
        """
        A copy of the world, to act in.
        """

@final
class World:
    """
    A built-in world, to be acted in from Python.
    """
    @property
    def actions(self, /) -> Any:
        """
        What can be done: a number of actions, or the bounds of each number.
        """
    @property
    def observations(self, /) -> Any:
        """
        What is seen: a number of states, or the bounds of each number.
        """
    def reset(self, /) -> Incomplete:
        """
        Starts an episode and returns the first observation.
        """
    def seed(self, /, seed: SupportsIndex) -> None:
        """
        Draws from this seed from now on.
        """
    def step(self, /, action: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> tuple[Incomplete, Incomplete, bool, bool]:
        """
        Acts. Returns the observation, the measurement, whether the episode ended, and whether it was cut off.
        """

def built_in(name: str) -> str | None:
    """
    The text of a built-in problem.
    """

def main(arguments: SupportsGetItem[int, str]) -> int:
    """
    Runs the command line with these arguments, and returns its exit status.
    """

def worlds() -> list[str]:
    """
    The names of the built-in worlds.
    """

def __getattr__(name: str) -> Incomplete: ...
