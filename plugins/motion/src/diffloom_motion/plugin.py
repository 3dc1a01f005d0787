"""Registrations of diffloom-motion, by import path, so that nothing heavy is imported before it is used."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_experiment_kinds(register: Register) -> None:
    """Register experiment files about measured motion."""
    register("motion", "diffloom_motion.schema:MotionKind", summary="A model fitted to recorded poses and markers")
