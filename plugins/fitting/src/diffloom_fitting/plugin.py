"""What diffloom-fitting offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl
from diffloom_fitting import offers

DIFFLOOM_PLUGIN_API = 2


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Offer the commands of the application."""
    for name, summary in offers.COMMANDS.items():
        register(name, f"diffloom_fitting.commands.{name}:{name}".replace("-", "_"), summary=summary)


@hookimpl
def diffloom_register_losses(register: Register) -> None:
    """Offer the losses."""
    for name, (what, summary) in offers.LOSSES.items():
        register(name, f"diffloom_fitting.losses:{what}", summary=summary)


@hookimpl
def diffloom_register_optimisers(register: Register) -> None:
    """Offer the optimisers."""
    for name, (what, summary) in offers.OPTIMISERS.items():
        formerly = ("hops",) if name == "basin_hopping" else ()
        register(name, f"diffloom_fitting.optimisers:{what}", summary=summary, formerly=formerly)


@hookimpl
def diffloom_register_video_readers(register: Register) -> None:
    """Offer the video readers."""
    register("video", "diffloom_fitting.targets:VideoFile", summary="mp4, gif and whatever else FFmpeg decodes")
    register("folder", "diffloom_fitting.targets:ImageFolder", summary="A folder of images")


@hookimpl
def diffloom_register_cameras(register: Register) -> None:
    """Offer the kinds of camera."""
    register("orbit", "diffloom_fitting.scene:Orbit", summary="Stands around the scene, by distance and angles")
    register("free", "diffloom_fitting.scene:FreeCamera", summary="Stands anywhere, turned in any way")


@hookimpl
def diffloom_register_segmenters(register: Register) -> None:
    """Offer the segmenters."""
    for name, (what, summary) in offers.SEGMENTERS.items():
        register(name, f"diffloom_fitting.segmentation:{what}", summary=summary)


@hookimpl
def diffloom_register_loggers(register: Register) -> None:
    """Offer the loggers."""
    register("csv", "diffloom_fitting.loggers.table:CsvTable", summary="A table of all iterations")
    for name, (what, summary) in offers.LOGGERS.items():
        needs = f"diffloom_fitting.loggers.logger:needs_{name}"
        register(name, f"diffloom_fitting.loggers.{name}:{what}", summary=summary, available=needs)
