"""Kinds of things that diffloom-experiments lets plugins register."""

from diffloom.plugins import Kind

EXPERIMENT_KINDS = Kind(
    "experiment_kinds",
    "kind of experiment file",
    "diffloom_experiments.experiment_kinds:ExperimentKind",
    "Kinds of experiment file: classes that implement ``diffloom_experiments.ExperimentKind``.",
)
