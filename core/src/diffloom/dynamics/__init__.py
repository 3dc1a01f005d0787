"""Mechanical systems: nodes of several kinds under force terms, and their rollouts with gradients."""

from diffloom.deprecation import renamed_names
from diffloom.dynamics.applied_force import applied
from diffloom.dynamics.binding import Compiled
from diffloom.dynamics.broadcasting import broadcast, expanded
from diffloom.dynamics.evaluation import Evaluation
from diffloom.dynamics.explicit import Target
from diffloom.dynamics.gather import frozen
from diffloom.dynamics.node_sets import Motion, NodeSet
from diffloom.dynamics.particle_set import particles
from diffloom.dynamics.push_term import Push, pushes
from diffloom.dynamics.records import Clock
from diffloom.dynamics.schemes import Move, Tableau, moves, tableau
from diffloom.dynamics.spring_term import springs
from diffloom.dynamics.step_values import per_step
from diffloom.dynamics.stepper import FrameCotangents, Segment, Stepper
from diffloom.dynamics.system import Mechanics
from diffloom.dynamics.terms import ElementTerm, NodeTerm, Stage, Term, TorchTerm
from diffloom.dynamics.trajectories import explicit_rollout, refuses_all_but_mechanics, roll

__getattr__ = renamed_names(__name__, {"spread": "broadcast"})

__all__ = [
    "Clock",
    "Compiled",
    "ElementTerm",
    "Evaluation",
    "FrameCotangents",
    "Mechanics",
    "Motion",
    "Move",
    "NodeSet",
    "NodeTerm",
    "Push",
    "Segment",
    "Stage",
    "Stepper",
    "Tableau",
    "Target",
    "Term",
    "TorchTerm",
    "applied",
    "broadcast",
    "expanded",
    "explicit_rollout",
    "frozen",
    "moves",
    "particles",
    "per_step",
    "pushes",
    "refuses_all_but_mechanics",
    "roll",
    "springs",
    "tableau",
]
