from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex, final
from typing_extensions import disjoint_base

@final
class Constraint:
    """
    What the long-term value of some measures must satisfy.
    """
    def __new__(cls, /, name: str, measures: SupportsGetItem[int, str], set: ConvexSet, share: bool, scale: SupportsFloat | SupportsIndex) -> Constraint:
        """
        These measures, or their shares a step, must lie in a set; distances are divided by the scale.
        """
    @property
    def stated(self, /) -> str | None:
        """
        What states its set in a problem file, such as `at_most = 2`; None where no file can.
        """

@disjoint_base
class ConvexSet:
    """
    A closed convex set, known by its projection.
    """
    def __new__(cls, /, name: str, given: Any, dim: SupportsIndex) -> ConvexSet:
        """
        The set of a registered name with these options, for vectors of `dim` entries.
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
class Dataset:
    """
    Logged episodes.
    """
    @property
    def checksum(self, /) -> str:
        """
        A checksum of all that was logged.
        """
    @property
    def episodes(self, /) -> int:
        """
        How many episodes there are.
        """
    def mean(self, /, discount: SupportsFloat | SupportsIndex, horizon: SupportsIndex | None) -> Incomplete:
        """
        The mean discounted measurement of its episodes.
        """
    @property
    def measures(self, /) -> list[tuple[str, int]]:
        """
        Names and numbers of entries of the measures.
        """
    @staticmethod
    def of_arrays(measures: SupportsGetItem[int, tuple[str, SupportsIndex]], observations: SupportsIndex | SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], actions: SupportsIndex | SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], lengths: SupportsGetItem[int, SupportsIndex], terminated: SupportsGetItem[int, bool], seen: Incomplete, done: Incomplete, z: Incomplete) -> Dataset:
        """
        Episodes of these lengths: observations have a row more than steps in each.
        """
    @staticmethod
    def read(path: str | PathLike[str]) -> Dataset:
        """
        The data set of a file.
        """
    @property
    def steps(self, /) -> int:
        """
        Steps of all episodes.
        """
    def with_spaces(self, /, observations: SupportsIndex | SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]] | None, actions: SupportsIndex | SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]] | None) -> Dataset:
        """
        The same with other numbers of observations and actions, or bounds.
        """
    def write(self, /, path: str | PathLike[str]) -> None:
        """
        Writes a file that is not there yet.
        """

@final
class Env:
    """
    An environment as a problem has it.
    """
    @staticmethod
    def built_in(name: str, settings: Any, discount: SupportsFloat | SupportsIndex, horizon: SupportsIndex | None) -> Env:
        """
        A built-in environment with these options.
        """
    @staticmethod
    def explicit(model: ExplicitModel, rewards: SupportsGetItem[int, str] | None, reach: SupportsGetItem[int, str], time: SupportsGetItem[int, str], average: SupportsGetItem[int, str], share: SupportsGetItem[int, str], end: SupportsGetItem[int, str], file: str | None, about: str) -> Env:
        """
        A model as model checkers keep it, with what is asked of it. One of a file is named by it.
        """
    @staticmethod
    def external(make: Any, observations: SupportsIndex | SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], actions: SupportsIndex | SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], measures: SupportsGetItem[int, tuple[str, SupportsIndex]], num_envs: SupportsIndex, about: str) -> Env:
        """
        Environments that `make(copy)` makes, `num_envs` of which are played in at once.
        """
    @staticmethod
    def logged(dataset: Dataset, file: str | None, about: str) -> Env:
        """
        Logged episodes, in which nobody can play. Those of a file are named by it.
        """
    @staticmethod
    def model(model: Model, about: str) -> Env:
        """
        A known model.
        """

@final
class ExplicitModel:
    """
    A Markov decision process with rewards, labels and names.
    """
    def arrays(self, /) -> tuple[Incomplete, Incomplete, Incomplete, Incomplete]:
        """
        The model by compressed rows.
        """
    @property
    def checksum(self, /) -> str:
        """
        A checksum of all that can be measured.
        """
    @property
    def choices(self, /) -> int:
        """
        Number of choices, over all states.
        """
    @property
    def is_chain(self, /) -> bool:
        """
        Whether nothing is chosen.
        """
    @property
    def labels(self, /) -> list[tuple[str, Incomplete]]:
        """
        The labels, each with its states.
        """
    @staticmethod
    def of_arrays(is_chain: bool, choices: Incomplete, rows: Incomplete, targets: Incomplete, probabilities: Incomplete, start: SupportsGetItem[int, tuple[SupportsIndex, SupportsFloat | SupportsIndex]], rewards: SupportsGetItem[int, tuple[str, Incomplete, Incomplete, Incomplete]], labels: SupportsGetItem[int, tuple[str, SupportsGetItem[int, SupportsIndex]]], choice_labels: tuple[SupportsGetItem[int, str], SupportsGetItem[int, SupportsIndex]] | None) -> ExplicitModel:
        """
        A model by compressed rows.
        """
    @staticmethod
    def read(path: str | PathLike[str]) -> ExplicitModel:
        """
        The model of a file.
        """
    @property
    def rewards(self, /) -> list[str]:
        """
        The measures that the reward structures are.
        """
    @property
    def start(self, /) -> list[tuple[int, float]]:
        """
        Where episodes start, with probabilities.
        """
    def state(self, /, index: SupportsIndex) -> tuple[str, list[str], list[tuple[str | None, list[tuple[float, int]]]]]:
        """
        What is known of a state.
        """
    @property
    def states(self, /) -> int:
        """
        Number of states.
        """
    @property
    def transitions(self, /) -> int:
        """
        Number of transitions.
        """
    def write(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the model into a file that is not there yet.
        """

@final
class Front:
    """
    The Pareto front of several measures.
    """
    @property
    def bounds(self, /) -> Incomplete:
        """
        The bound of each face.
        """
    @property
    def corners(self, /) -> Incomplete:
        """
        The corners of the outer approximation, in the same way.
        """
    def csv(self, /, problem: Problem) -> str:
        """
        The vertices as a table of text.
        """
    @property
    def distances(self, /) -> tuple[float, float]:
        """
        How far the best mixture is from the constraints, and how far any is at least.
        """
    @property
    def epsilon(self, /) -> float:
        """
        The gap that was asked for.
        """
    @property
    def gap(self, /) -> float:
        """
        How far what was found and what was proved are apart, in these ranges.
        """
    def measurements(self, /, problem: Problem, vertex: SupportsIndex) -> list[tuple[str, list[float]]] | None:
        """
        All that a vertex measures, by the names of the measures.
        """
    @property
    def measures(self, /) -> list[tuple[str, str]]:
        """
        The measures, each with "maximize" or "minimize".
        """
    @property
    def oracle_calls(self, /) -> int:
        """
        How often the oracle was asked.
        """
    def policy(self, /, problem: Problem, vertex: SupportsIndex) -> Policy | None:
        """
        The mixed policy of a vertex, by its number.
        """
    def report(self, /, problem: Problem, plan: Plan) -> str:
        """
        The page.
        """
    def save(self, /, problem: Problem, plan: Plan, folder: str | PathLike[str]) -> None:
        """
        Writes the front into a new folder.
        """
    @property
    def sentence(self, /) -> str:
        """
        What was found, in a sentence.
        """
    @property
    def units(self, /) -> Incomplete:
        """
        The range of each measure over the front.
        """
    @property
    def verdict(self, /) -> str:
        """
        "feasible", "infeasible" or "undecided": of the constraints.
        """
    def verify(self, /, problem: Problem) -> tuple[str, bool]:
        """
        Computes the claim again: what was checked of it, and whether it holds.
        """
    @property
    def vertices(self, /) -> Incomplete:
        """
        The vertices: a row each, a column for each measure.
        """
    @property
    def weights(self, /) -> Incomplete:
        """
        The weights of the faces, in the same way.
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
class Outcome:
    """
    What came out of a solve.
    """
    def advice(self, /, problem: Problem) -> list[str]:
        """
        Prices and the nearest that can be had, in sentences.
        """
    @property
    def certificate(self, /) -> dict[str, Any]:
        """
        The claim with all that is needed to check it again.
        """
    @property
    def confidence(self, /) -> float | None:
        """
        The level of the verdict where it rests on fresh episodes.
        """
    @property
    def distance(self, /) -> float:
        """
        The distance of the measurements from the target set.
        """
    def distilling(self, /, problem: Problem, plan: Plan, settings: Any) -> Plan:
        """
        How one policy is made of the mixture, by options as the table [solve] has them.
        """
    def evaluate(self, /, problem: Problem, episodes: SupportsIndex, seed: SupportsIndex) -> list[tuple[str, float, float, float, float]]:
        """
        What fresh episodes measure: name, mean, standard error and the ends of a confidence interval, entry by entry.
        """
    @property
    def evaluation(self, /) -> dict[str, Any] | None:
        """
        What fresh episodes said, where the policy was learnt.
        """
    @property
    def evidence(self, /) -> str:
        """
        What fresh episodes say, in a sentence.
        """
    def export(self, /, problem: Problem, file: str | PathLike[str]) -> Path:
        """
        Writes the networks as ONNX files; returns the path of the file with their weights.
        """
    @property
    def failure(self, /) -> str | None:
        """
        What went wrong on the way, if anything did.
        """
    @property
    def history(self, /) -> dict[str, Any]:
        """
        The rounds, one array a column.
        """
    def logged(self, /, problem: Problem) -> dict[str, Any] | None:
        """
        What logs say, where they were learnt from.
        """
    @property
    def lower_bound(self, /) -> float:
        """
        No policy comes closer to the target set than this.
        """
    def measurements(self, /, problem: Problem) -> dict[str, Any]:
        """
        The long-term value of every measure.
        """
    def must_act(self, /) -> None:
        """
        Refuses policies of Python's that can't act.
        """
    def nearest(self, /, problem: Problem) -> list[tuple[str, float]] | None:
        """
        The closest that any policy comes where nothing is feasible: names and values.
        """
    @property
    def objective(self, /) -> tuple[float | None, tuple[float, float] | None, float | None]:
        """
        The best value of the objective, where fresh episodes put it, and a bound that no feasible policy passes.
        """
    @property
    def optimum(self, /) -> str:
        """
        What was found of the objective, in a sentence; empty where there is none.
        """
    def policy(self, /, problem: Problem) -> Policy:
        """
        The mixed policy.
        """
    def prices(self, /, problem: Problem) -> list[tuple[str, str, float]]:
        """
        What loosening each constraint is worth: its name, what is loosened, and the price.
        """
    @property
    def reason(self, /) -> str:
        """
        Why the search ended.
        """
    @property
    def rounds(self, /) -> int:
        """
        Rounds played.
        """
    def rows(self, /, problem: Problem) -> list[tuple[str, str, str, str, str, bool, float]]:
        """
        Each constraint's name, measure, value, requirement, slack, whether it holds, and its distance.
        """
    @property
    def samples(self, /) -> int:
        """
        Steps taken in the environment to learn.
        """
    def save(self, /, problem: Problem, plan: Plan, folder: str | PathLike[str]) -> None:
        """
        Writes the run into a new folder.
        """
    @property
    def sentence(self, /) -> str:
        """
        The verdict in a sentence.
        """
    @property
    def verdict(self, /) -> str:
        """
        "feasible", "infeasible" or "undecided".
        """
    def verify(self, /, problem: Problem, plan: Plan, seed: SupportsIndex) -> tuple[str, bool]:
        """
        Computes the claim again: what was checked of it, and whether it holds.
        """

@final
class Plan:
    """
    A method with its options, what it may take, and the seed.
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
class Problem:
    """
    A problem: an environment, how its measurements add up, and the constraints.
    """
    def __new__(cls, /, name: str, env: Env, constraints: SupportsGetItem[int, Constraint], discount: SupportsFloat | SupportsIndex, horizon: SupportsIndex | None) -> Problem:
        """
        A problem in an environment.
        """
    @property
    def constraints(self, /) -> int:
        """
        How many constraints there are.
        """
    @property
    def discount(self, /) -> float:
        """
        γ.
        """
    @property
    def grid(self, /) -> list[str] | None:
        """
        The map, where the states are cells of one.
        """
    @property
    def horizon(self, /) -> int | None:
        """
        Steps after which an episode is cut off.
        """
    @property
    def is_external(self, /) -> bool:
        """
        Whether its environment is Python's.
        """
    @staticmethod
    def load(name_or_path: str) -> Problem:
        """
        A problem file, or the built-in problem of this name.
        """
    @property
    def measures(self, /) -> list[tuple[str, int]]:
        """
        Names and numbers of entries of the measures.
        """
    @property
    def missing(self, /) -> str | None:
        """
        What is Python's and was not given, if anything is.
        """
    @property
    def name(self, /) -> str:
        """
        What it is called.
        """
    @staticmethod
    def of_run(folder: str | PathLike[str], given: Problem | None, oracle: Any | None) -> Problem:
        """
        The problem of a run. Where its environment, its sets or its oracle are Python's, those of `given` are; where
        nothing is given, what came out can be read, and nothing judged again.
        """
    def plan(self, /, settings: Any, oracle: Any | None = None) -> Plan:
        """
        How to solve it: options as the table [solve] of a problem file has them.
        """
    def resolved(self, /, plan: Plan) -> str:
        """
        The problem as a file with every default written out.
        """
    def with_objective(self, /, utility: Any, is_maximum: bool) -> Problem:
        """
        The same problem with an objective, which is to be as large as the constraints allow, or as small.
        """
    def world(self, /) -> World:
        """
        The environment, to act in.
        """

@final
class Study:
    """
    A study in a folder.
    """
    def __new__(cls, /, folder: str | PathLike[str], runs: SupportsGetItem[int, tuple[Problem, Plan, str]], left_out: SupportsGetItem[int, tuple[str, str, str]], planned: set[str] | None = None) -> Study:
        """
        Plans solves in a folder: problems, how to solve them, and what that is called; `left_out` are
        problems that methods can't solve, with the reasons. Besides, it has those of `planned`,
        by their names, that are planned there already and need nothing of Python's.
        """
    def compare(self, /) -> tuple[str, str]:
        """
        Compares the runs that have ended: a table as text, and everything as JSON.
        """
    def draw(self, /, threads: SupportsIndex, checkpoint_every: SupportsFloat | SupportsIndex, expire_after: SupportsFloat | SupportsIndex, retry: bool, watch: Any | None = None) -> bool:
        """
        Draws runs until all have ended, here or elsewhere. `watch(progress)` is called now and then, unless it is None; it
        ends the drawing by returning False. Returns whether all have ended.
        """
    def runs(self, /) -> list[tuple[str, str, int]]:
        """
        The problems, methods and seeds of the runs, in the order of `states`.
        """
    def states(self, /) -> list[tuple[str, str, str, Path]]:
        """
        The runs, by name: how far each is, what went wrong, and where it is once it has ended.
        """

@final
class Worker:
    """
    A worker: worlds of a problem, and the policy that plays in them.
    """
    def __new__(cls, /, problem: Problem, number: SupportsIndex) -> Worker:
        """
        A worker of this number, which no other of a run has.
        """
    def load(self, /, policy: bytes) -> None:
        """
        Plays by another policy from here on.
        """
    def play(self, /, task: bytes) -> bytes:
        """
        Does a task, and returns what came of it.
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

def main(arguments: SupportsGetItem[int, str]) -> int:
    """
    Runs the command line with these arguments, and returns its exit status.
    """

def outcome(problem: Problem, folder: str | PathLike[str], oracle: Any | None = None) -> Outcome:
    """
    The outcome of the run in a folder.
    """

def pareto(problem: Problem, plan: Plan, measures: SupportsGetItem[int, tuple[str, bool]], epsilon: SupportsFloat | SupportsIndex, calls: SupportsIndex) -> Front:
    """
    The front of measures, each with whether it is to be large, to a gap of `epsilon`.
    """

def record(problem: Problem, policy: Policy | None, episodes: SupportsIndex, epsilon: SupportsFloat | SupportsIndex, seed: SupportsIndex) -> Dataset:
    """
    Logs episodes of a policy, or with actions drawn at random where there is none.
    """

def registered() -> list[tuple[str, tuple[str, str, list[tuple[str, str | None, str]]]]]:
    """
    What problems can name, by kind: "environment", "player", "oracle", "learner", "learned" and "method".
    """

def report(runs: SupportsGetItem[int, tuple[Outcome, Problem, Plan, str | None]]) -> str:
    """
    The page of an outcome, or the comparison of several.
    """

def resume(problem: Problem, plan: Plan, folder: str | PathLike[str], every: SupportsFloat | SupportsIndex = 60.0, observe: Any | None = None, oracle: Any | None = None, progress: Any | None = None, workers: Any | None = None) -> tuple[Outcome, bool]:
    """
    Goes on with the run in a folder, as `solve` does from the start.
    """

def solve(problem: Problem, plan: Plan, folder: str | PathLike[str] | None = None, every: SupportsFloat | SupportsIndex = 60.0, observe: Any | None = None, progress: Any | None = None, workers: Any | None = None) -> tuple[Outcome, bool]:
    """
    Solves the problem; where a folder is given, the run is recorded there. After every round `observe(line)` is
    called, unless it is None; it ends the search by returning False. `progress(line)` is called now and then within what
    takes long. Returns the outcome and whether Ctrl-C ended it.
    """

def verify(problem: Problem, plan: Plan, folder: str | PathLike[str], seed: SupportsIndex | None = None, oracle: Any | None = None) -> tuple[str, bool]:
    """
    What was checked of the claim of the run in a folder, and whether it holds.
    """

def __getattr__(name: str) -> Incomplete: ...
