"""Mechanical systems: nodes of several kinds under force terms, and their rollouts with gradients."""

from diffloom.broadcasting import broadcast, expanded
from diffloom_mechanics.applied_force import applied
from diffloom_mechanics.binding import Compiled
from diffloom_mechanics.evaluation import Evaluation
from diffloom_mechanics.explicit import Target
from diffloom_mechanics.gather import frozen
from diffloom_mechanics.node_sets import Motion, NodeSet
from diffloom_mechanics.particle_set import particles
from diffloom_mechanics.push_term import Push, pushes
from diffloom_mechanics.records import Clock
from diffloom_mechanics.schemes import Move, Tableau, moves, tableau
from diffloom_mechanics.spring_term import springs
from diffloom_mechanics.step_values import per_step
from diffloom_mechanics.stepper import FrameCotangents, Segment, Stepper
from diffloom_mechanics.system import Mechanics
from diffloom_mechanics.terms import ElementTerm, NodeTerm, Stage, Term, TorchTerm
from diffloom_mechanics.trajectories import explicit_rollout, refuses_all_but_mechanics, roll

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
