"""Registrations of diffloom-render-dibr. Import paths only: nothing heavy is imported before it is used."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_renderers(register: Register) -> None:
    """Register the renderer "dibr"."""
    register("dibr", "diffloom_render_dibr.renderer:DibrRenderer", summary="DIB-R: hard foreground, soft silhouette")


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register the doctor's finding on Kaolin."""
    register("dibr-libraries", "diffloom_render_dibr.doctor:libraries", summary="Kaolin")
