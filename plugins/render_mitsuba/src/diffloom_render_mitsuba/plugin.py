"""Registrations of diffloom-render-mitsuba. Import paths only: nothing heavy is imported before it is used."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_renderers(register: Register) -> None:
    """Register the renderer "mitsuba"."""
    register(
        "mitsuba",
        "diffloom_render_mitsuba.renderer:MitsubaRenderer",
        summary="Mitsuba 3: photorealistic images, and a mode that matches the rasterizers",
    )
