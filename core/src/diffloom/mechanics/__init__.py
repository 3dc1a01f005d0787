"""Mechanical systems: nodes that move by a law under force terms, and their rollouts with gradients."""

from diffloom.mechanics.applied import applied
from diffloom.mechanics.controls import per_step
from diffloom.mechanics.law import NodeLaw
from diffloom.mechanics.particles import particles
from diffloom.mechanics.spreading import spread
from diffloom.mechanics.springs import springs
from diffloom.mechanics.system import Mechanics
from diffloom.mechanics.terms import ElementTerm, NodeTerm, Stage, Term, TorchTerm
from diffloom.mechanics.windows import Push, pushes

__all__ = [
    "ElementTerm",
    "Mechanics",
    "NodeLaw",
    "NodeTerm",
    "Push",
    "Stage",
    "Term",
    "TorchTerm",
    "applied",
    "particles",
    "per_step",
    "pushes",
    "spread",
    "springs",
]
