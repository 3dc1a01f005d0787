"""What diffloom-physics-fem offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "fem"."""
    register("fem", "diffloom_physics_fem.model:FemModel", summary="Deformable solids of neo-Hookean tetrahedra")


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register what the doctor says of PyTetWild."""
    register("fem-libraries", "diffloom_physics_fem.doctor:libraries", summary="PyTetWild")
