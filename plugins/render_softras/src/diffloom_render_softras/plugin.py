"""Registrations of diffloom-render-softras. Import paths only: nothing heavy is imported before it is used."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_renderers(register: Register) -> None:
    """Register the renderer "softras"."""
    register(
        "softras",
        "diffloom_render_softras.renderer:SoftRasRenderer",
        summary="Soft rasterizer: every face touches every pixel a little",
    )


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register the doctor's finding on PyTorch3D."""
    register("softras-libraries", "diffloom_render_softras.doctor:libraries", summary="PyTorch3D")
