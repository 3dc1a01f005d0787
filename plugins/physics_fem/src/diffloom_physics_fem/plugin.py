"""Registrations of diffloom-physics-fem, as import paths, so that torch and numba are imported on first use."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Register the model "fem"."""
    register("fem", "diffloom_physics_fem.model:FemModel", summary="Deformable solids of neo-Hookean tetrahedra")


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register the check for PyTetWild."""
    register("fem-libraries", "diffloom_physics_fem.doctor:check_libraries", summary="PyTetWild")
