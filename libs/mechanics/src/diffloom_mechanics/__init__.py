"""Mechanical systems: node sets of several kinds under force terms, and their rollouts with gradients."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
