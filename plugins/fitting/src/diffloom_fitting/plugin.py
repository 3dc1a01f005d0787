"""What diffloom-fitting offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl
from diffloom_fitting.commands.summaries import COMMANDS

DIFFLOOM_PLUGIN_API = 2


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
    register("iou", "diffloom_fitting.losses:IoU", summary="One minus the overlap of outlines")
    register("interior", "diffloom_fitting.losses:InteriorError", summary="Colours well inside the outline")
    register("multiscale", "diffloom_fitting.losses:MultiScale", summary="Pixel error at several scales")
    register("moments", "diffloom_fitting.losses:Moments", summary="Place and size of the outline, from any distance")
    register("region", "diffloom_fitting.losses:Region", summary="Another loss on a rectangle of the image")
    register("centre", "diffloom_fitting.losses:CentreError", summary="Squared distance of the nodes' middle")
    register("state", "diffloom_fitting.losses:StateError", summary="Mean squared difference of states, not pixels")


@hookimpl
def diffloom_register_optimisers(register: Register) -> None:
    """Offer the optimisers."""
    register("adam", "diffloom_fitting.optimisers:Adam", summary="Adam: steps of one size, whatever the gradient's")
    register("cma", "diffloom_fitting.optimisers:CmaEs", summary="CMA-ES: a search without gradients, for a start")
    register("gauss_newton", "diffloom_fitting.optimisers:GaussNewton", summary="Gauss-Newton with damped steps")
    register("basin_hopping", "diffloom_fitting.optimisers:BasinHopping", summary="Basin hopping", formerly=("hops",))
    register("lbfgs", "diffloom_fitting.optimisers:Lbfgs", summary="L-BFGS, for very many unknowns")
    register("line_scan", "diffloom_fitting.optimisers:LineScan", summary="Gradient descent, the best of many lengths")
    register("sgd", "diffloom_fitting.optimisers:Sgd", summary="Gradient descent with momentum")


@hookimpl
def diffloom_register_video_readers(register: Register) -> None:
    """Offer the video readers."""
    register("video", "diffloom_fitting.targets:VideoFile", summary="mp4, gif and whatever else FFmpeg decodes")
    register("folder", "diffloom_fitting.targets:ImageFolder", summary="A folder of images")


@hookimpl
def diffloom_register_cameras(register: Register) -> None:
    """Offer the kinds of camera."""
    register("orbit", "diffloom_fitting.scene:Orbit", summary="Stands around the scene, by distance and angles")
