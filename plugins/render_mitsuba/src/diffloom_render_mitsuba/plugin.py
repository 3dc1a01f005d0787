"""What diffloom-render-mitsuba offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_renderers(register: Register) -> None:
    """Offer the renderer "mitsuba"."""
    register(
        "mitsuba",
        "diffloom_render_mitsuba.renderer:MitsubaRenderer",
        summary="Mitsuba 3: photorealistic images, and a mode that matches the rasterizers",
    )
