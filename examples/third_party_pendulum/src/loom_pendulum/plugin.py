"""Registrations of loom-pendulum: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "pendulum"."""
    register("pendulum", "loom_pendulum.model:PendulumModel", summary="Planar pendulums, one angle each")
