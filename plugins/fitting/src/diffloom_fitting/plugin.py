"""Registrations of diffloom-fitting, by import path, so that nothing heavy is imported before it is used."""

from diffloom.plugins import Kind, Register, hookimpl
from diffloom_fitting.kinds import CAMERAS, DISPLAYS, LOSSES, OPTIMISERS, TARGET_READERS

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_define_kinds() -> list[Kind]:
    """Return the kinds that this plugin defines."""
    return [CAMERAS, DISPLAYS, LOSSES, OPTIMISERS, TARGET_READERS]


@hookimpl
def diffloom_register_losses(register: Register) -> None:
    """Register the losses."""
    register("mse", "diffloom_fitting.losses:PixelError", summary="Mean squared difference of pixels")
    register("silhouette", "diffloom_fitting.losses:SilhouetteError", summary="Mean squared difference of outlines")
    register("iou", "diffloom_fitting.losses:IoU", summary="One minus the IoU of outlines")
    register("interior", "diffloom_fitting.losses:InteriorError", summary="Colours well inside the outline")
    register("multiscale", "diffloom_fitting.losses:MultiScale", summary="Pixel error at several scales")
    register("moments", "diffloom_fitting.losses:Moments", summary="Place and size of the outline, from any distance")
    register("region", "diffloom_fitting.losses:RegionLoss", summary="Another loss on a rectangle of the image")
    register("centre", "diffloom_fitting.losses:CentreError", summary="Squared distance of the nodes' centre")
    register("state", "diffloom_fitting.losses:StateError", summary="Mean squared difference of states, not pixels")
    register("track", "diffloom_fitting.losses:TrackError", summary="Difference of centroid and radius in the image")


@hookimpl
def diffloom_register_optimisers(register: Register) -> None:
    """Register the optimisers."""
    register("adam", "diffloom_fitting.optimisers:Adam", summary="Adam: steps of one size for any gradient")
    register("cma", "diffloom_fitting.optimisers:CmaEs", summary="CMA-ES: a search without gradients, for a start")
    register("gauss_newton", "diffloom_fitting.optimisers:GaussNewton", summary="Gauss-Newton with damped steps")
    register("basin_hopping", "diffloom_fitting.optimisers:BasinHopping", summary="Basin hopping")
    register("lbfgs", "diffloom_fitting.optimisers:Lbfgs", summary="L-BFGS, for very many unknowns")
    register("line_scan", "diffloom_fitting.optimisers:LineScan", summary="Gradient descent, the best of many lengths")
    register("sgd", "diffloom_fitting.optimisers:Sgd", summary="Gradient descent with momentum")


@hookimpl
def diffloom_register_cameras(register: Register) -> None:
    """Register the kinds of camera."""
    register("orbit", "diffloom_fitting.scene:Orbit", summary="Looks at a point, from a distance and at angles")
    register("free", "diffloom_fitting.scene:FreeCamera", summary="Any position and orientation")


@hookimpl
def diffloom_register_suites(register: Register) -> None:
    """Register the conformance suites of losses and optimisers."""
    register("loss", "diffloom_fitting.testing.losses:SUITE", summary="Checks of a loss on small targets")
    register("optimiser", "diffloom_fitting.testing.optimisers:SUITE", summary="Checks of an optimiser on valleys")
