"""Plugin hooks of diffloom-render-coverage. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_renderers(register: Register) -> None:
    """Register the renderer "coverage"."""
    register(
        "coverage",
        "diffloom_render_coverage.renderer:CoverageRenderer",
        summary="Exact coverage: each pixel is the mean colour of what is visible in it",
    )
