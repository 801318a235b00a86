"""Reinforcement learning under convex constraints, with evidence.

Name what is measured along an episode and the convex set in which the expected long-term measurements must lie;
:func:`solve` learns a mixed policy that puts them there and says how sure that is:

>>> import appropo as ap
>>> rover = ap.Problem(
...     env="mars-rover",
...     constraints=[ap.measure("failure") <= 0.2, ap.measure("reward") >= -0.17],
...     discount=0.99,
... )
>>> result = ap.solve(rover)
>>> result.verdict
'feasible'
>>> result.measurements["failure"] <= 0.2
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ._appropo import AppropoError, ProblemError, RunError, SetError, WorkerError, WorldError, __version__
from .choices import (
    A2C,
    CPO,
    OGD,
    PPO,
    RCPO,
    SAC,
    Apprenticeship,
    Batch,
    Blackwell,
    Exact,
    FrankWolfe,
    FullyCorrective,
    Hedge,
    Lagrangian,
    LastIterate,
    Maxent,
    ModelBased,
    Momentum,
    Occupancy,
    Projection,
    QLearning,
    StateAugmented,
    Universal,
)
from .constraints import Constraint
from .datasets import Dataset, record
from .environments import BuiltIn, Transition, info
from .front import Front, pareto
from .measures import Measure, measure, norm
from .models import Model
from .policy import MixedPolicy
from .problem import Problem
from .result import Result, compare, load
from .sets import (
    Affine,
    AtLeast,
    AtMost,
    Ball,
    Box,
    ConvexSet,
    Custom,
    Ellipsoid,
    Entropy,
    HalfSpace,
    Intersection,
    KLBall,
    L1Ball,
    LinfBall,
    Polytope,
    Product,
    ReverseKLBall,
    SecondOrderCone,
    Semidefinite,
    Simplex,
    Slab,
)
from .solve import maximize, minimize, resume, solve
from .study import Run, Study, study
from .utilities import Utility, entropy, smooth_minimum, squared_distance
from .workers import Processes, Ray

if TYPE_CHECKING:
    from . import gym as gym
    from . import wrappers as wrappers
else:

    def __getattr__(name):
        # They need Gymnasium, so they are imported where they are used.
        if name in ("gym", "wrappers"):
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "A2C",
    "Affine",
    "AppropoError",
    "Apprenticeship",
    "AtLeast",
    "AtMost",
    "Ball",
    "Batch",
    "Blackwell",
    "Box",
    "BuiltIn",
    "CPO",
    "Constraint",
    "ConvexSet",
    "Custom",
    "Dataset",
    "Ellipsoid",
    "Entropy",
    "Exact",
    "FrankWolfe",
    "Front",
    "FullyCorrective",
    "HalfSpace",
    "Hedge",
    "Intersection",
    "KLBall",
    "L1Ball",
    "Lagrangian",
    "LastIterate",
    "LinfBall",
    "Maxent",
    "Measure",
    "MixedPolicy",
    "Model",
    "ModelBased",
    "Momentum",
    "Occupancy",
    "OGD",
    "PPO",
    "Polytope",
    "Problem",
    "ProblemError",
    "Processes",
    "Product",
    "Projection",
    "QLearning",
    "RCPO",
    "Ray",
    "Result",
    "ReverseKLBall",
    "Run",
    "SAC",
    "RunError",
    "SecondOrderCone",
    "Semidefinite",
    "SetError",
    "Simplex",
    "Slab",
    "StateAugmented",
    "Study",
    "Transition",
    "Universal",
    "Utility",
    "WorkerError",
    "WorldError",
    "__version__",
    "compare",
    "entropy",
    "info",
    "load",
    "maximize",
    "measure",
    "minimize",
    "norm",
    "pareto",
    "record",
    "resume",
    "smooth_minimum",
    "solve",
    "squared_distance",
    "study",
]
