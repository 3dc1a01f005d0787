"""Stages of a fit whose file names none: motion before materials, short horizons first, coarse images first."""

from __future__ import annotations

from collections.abc import Sequence

from diffloom_fitting import GaussNewton, Loss, MultiScale, PixelError, Schedule, Stage, Stop
from diffloom_fitting.targets import AnyTarget

#: Last parts of the names of unknowns that tell how the motion begins, or from where it is seen.
OF_MOTION = ("position", "orientation", "velocity", "rate", "angle")
#: Least width and height of images [px] that are compared at coarse scales too.
COARSE = 32
#: Rounds of random starts of a fit in default stages whose end does not explain the video.
RESTARTS = 3


def make_default_stages(names: Sequence[str], loss: Loss, target: AnyTarget, iterations: int = 30) -> tuple[Stage, ...]:
    """Return the stages of a fit whose file names none.

    The first moves places and velocities, the second spins too, the third all unknowns; they compare coarse images over
    a growing part of the video. The last compares all pixels.

    Args:
        names: Names of the unknowns.
        loss: Loss of the file.
        target: The target; goals have one stage.
        iterations: Largest number of iterations of the last stage.

    Returns:
        The stages.
    """
    final = Stage(GaussNewton(), iterations, stop=Stop(change=1e-9, patience=3))
    views = target.by_view().values()
    if target.goal or max((len(one) for one in views), default=0) < 4:
        return (final,)
    sizes = [side for one in views if one.size is not None for side in one.size]
    wide = MultiScale(levels=3, first=2) if type(loss) is PixelError and min(sizes, default=0) >= COARSE else None
    still, grow = Stop(change=1e-3, patience=2), Schedule(0.3, 1.0, "steps")
    places = tuple(name for name in names if begins_motion(name) and not turns(name))
    motion = tuple(name for name in names if begins_motion(name))
    groups = [group for group in dict.fromkeys((places, motion)) if 0 < len(group) < len(names)]
    early = [
        Stage(GaussNewton(), 16, horizon=Schedule(0.3, 0.6, "steps"), loss=wide, only=g, stop=still) for g in groups
    ]
    return (*early, Stage(GaussNewton(), 16, horizon=grow, loss=wide, stop=still), final)


def begins_motion(name: str) -> bool:
    """Return True if an unknown tells how the motion begins or where the camera is, not what a body is made of."""
    last = name.partition("@")[0].rpartition(".")[2]
    return name.startswith(("camera.", "appearance.")) or last.endswith(OF_MOTION)


def turns(name: str) -> bool:
    """Return True if an unknown turns a body, which says little before the body is where the video shows it."""
    return name.partition("@")[0].endswith(("angular_velocity", "orientation"))
