"""What diffloom-fitting offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 1

COMMANDS = {
    "run": "Fit an experiment's unknowns to its video",
    "simulate": "Simulate a scene forward",
    "render": "Draw a scene",
    "landscape": "Plot the loss over one or two parameters",
    "check-gradient": "Compare an experiment's gradient with finite differences",
    "sweep": "Run an experiment over many seeds and write a table",
    "schema": "Print the JSON schema of experiment files",
    "warm": "Compile now what experiments will need",
    "demo": "Fit a bundled clip and write its report",
}


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Offer the commands of the application."""
    for name, summary in COMMANDS.items():
        function = name.replace("-", "_")
        register(name, f"diffloom_fitting.commands.{function}:{function}", summary=summary)


@hookimpl
def diffloom_register_losses(register: Register) -> None:
    """Offer the losses."""
    register("mse", "diffloom_fitting.losses:PixelError", summary="Mean squared difference of pixels")
    register("silhouette", "diffloom_fitting.losses:SilhouetteError", summary="Mean squared difference of outlines")
    register("iou", "diffloom_fitting.losses:Overlap", summary="One minus the overlap of outlines")
    register("interior", "diffloom_fitting.losses:InteriorError", summary="Colours well inside the outline")
    register("multiscale", "diffloom_fitting.losses:MultiScale", summary="Pixel error at several scales")
    register("state", "diffloom_fitting.losses:StateError", summary="Mean squared difference of states, not pixels")
