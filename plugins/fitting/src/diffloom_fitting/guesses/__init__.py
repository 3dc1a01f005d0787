"""Starts of a fit, read off the tracks of a video: good enough for what follows to find the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from diffloom.interfaces import InputError
from diffloom.interfaces.errors import check_choice
from diffloom_fitting.files.make import make
from diffloom_fitting.files.schema import ExperimentFile
from diffloom_fitting.guesses.bounces import WINDOWS, guess_bounces
from diffloom_fitting.guesses.pendulum import guess_pendulum
from diffloom_fitting.guesses.sight import Sighting
from diffloom_fitting.guesses.throw import guess_throw
from diffloom_fitting.scene import Scene
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.several import AnyTarget
from diffloom_fitting.targets.target import tracked

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


def _colour(target: Target) -> dict[str, list[float]]:
    """The object's mean colour, where it surely is."""
    if target.frames is None or target.masks is None:
        return {}
    inside = target.masks > 0.99
    if not bool(inside.any()):
        return {}
    colour = target.frames[..., :3][inside].double().mean(dim=0)
    return {"appearance.colour": colour.clamp(0.01, 0.99).tolist()}


def with_guess(content: ExperimentFile, scene: Scene, target: AnyTarget) -> tuple[ExperimentFile, Scene]:
    """The file with starts for those unknowns that have none and can be guessed, and the scene with the windows that
    were found."""
    if content.guess is None:
        return content, scene
    if not isinstance(target, Target):
        raise InputError("guess: this is for one camera; give starts where there are several")
    kind = check_choice("guess", content.guess.name, GUESSES)
    seen = sighting(scene, target)
    found = {**make("guess", kind, partial(GUESSES[kind], seen), content.guess.settings), **_colour(target)}
    starts = {
        name: table if table.start is not None or name not in found else table.model_copy(update={"start": found[name]})
        for name, table in content.unknowns.items()
    }
    windows = found.get(WINDOWS)
    if isinstance(windows, list) and not scene.windows:
        scene = replace(scene, windows=tuple(windows))
    return content.model_copy(update={"unknowns": starts}), scene
