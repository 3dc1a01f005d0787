"""What diffloom-render-dibr offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_renderers(register: Register) -> None:
    """Offer the renderer "dibr"."""
    register("dibr", "diffloom_render_dibr.renderer:DibrRenderer", summary="DIB-R: hard foreground, soft silhouette")


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register what the doctor says of Kaolin."""
    register("dibr-libraries", "diffloom_render_dibr.doctor:libraries", summary="Kaolin")
