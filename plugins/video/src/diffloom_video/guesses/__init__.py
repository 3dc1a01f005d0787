"""Starts of a fit, read off the tracks of a video: good enough for what follows to find the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from diffloom.interfaces import InputError
from diffloom_fitting.scene import Scene
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.target import tracked
from diffloom_video.guesses.bounces import guess_bounces
from diffloom_video.guesses.pendulum import guess_pendulum
from diffloom_video.guesses.sight import Sighting
from diffloom_video.guesses.throw import guess_throw

Guess = dict[str, float] | dict[str, float | list[float]]
GUESSES: Mapping[str, Callable[..., Guess]] = {
    "bounces": guess_bounces, "pendulum": guess_pendulum, "throw": guess_throw,
}  # fmt: skip


def sighting(scene: Scene, target: Target) -> Sighting:
    """What the tracks of a target show, in the scene's camera."""
    tracks = tracked(target).double().numpy()
    seen = tracks[:, 3] > 0.5
    if int(seen.sum()) < 6:
        raise InputError(f"guess: the object is seen in {int(seen.sum())} frames; expected at least 6; see the masks")
    times = target.times.numpy() + scene.viewpoint.time_offset
    view = scene.viewpoint.camera
    fov = getattr(view, "fov", None)
    if fov is None:
        raise InputError("guess: the camera must be an orbit, whose field of view is known")
    height, width = scene.size
    focal = 0.5 * height / float(np.tan(np.radians(0.5 * fov)))
    elevation = float(np.radians(getattr(view, "elevation", 0.0)))
    return Sighting(times[seen], tracks[seen, :3].T, focal, height, width, elevation)


def mean_colour(target: Target) -> dict[str, list[float]]:
    """The object's mean colour, where it surely is."""
    if target.frames is None or target.masks is None:
        return {}
    inside = target.masks > 0.99
    if not bool(inside.any()):
        return {}
    colour = target.frames[..., :3][inside].double().mean(dim=0)
    return {"appearance.colour": colour.clamp(0.01, 0.99).tolist()}
