"""What diffloom-render-softras offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_renderers(register: Register) -> None:
    """Offer the renderer "softras"."""
    register(
        "softras",
        "diffloom_render_softras.renderer:SoftRasRenderer",
        summary="Soft rasterizer: every face touches every pixel a little",
    )
