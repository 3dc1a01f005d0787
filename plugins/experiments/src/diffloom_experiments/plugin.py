"""Registrations of diffloom-experiments, as import paths: nothing heavy is imported before it is used."""

from diffloom.plugins import Kind, Register, hookimpl
from diffloom_experiments.kinds import EXPERIMENT_KINDS

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_define_kinds() -> list[Kind]:
    """Return the kinds that this plugin defines."""
    return [EXPERIMENT_KINDS]


@hookimpl
def diffloom_register_experiment_kinds(register: Register) -> None:
    """Register the ordinary kind of experiment file."""
    register("video", "diffloom_experiments.kinds:VideoKind", summary="A scene fitted to videos, images or goals")
