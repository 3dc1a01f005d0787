"""Starts of an experiment's unknowns, guessed from the tracks of its video."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from diffloom.interfaces import InputError
from diffloom.validation import check_choice
from diffloom_experiments.make import make
from diffloom_experiments.schema import ExperimentFile
from diffloom_fitting.scene import Scene
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.several import AnyTarget
from diffloom_video.guesses import GUESSES, mean_colour, sighting
from diffloom_video.guesses.bounces import WINDOWS


def with_guess(content: ExperimentFile, scene: Scene, target: AnyTarget) -> tuple[ExperimentFile, Scene]:
    """The file with starts for those unknowns that have none and can be guessed, and the scene with the windows that
    were found."""
    if content.guess is None:
        return content, scene
    if not isinstance(target, Target):
        raise InputError("guess: this is for one camera; give starts where there are several")
    kind = check_choice("guess", content.guess.name, GUESSES)
    seen = sighting(scene, target)
    found = {**make("guess", kind, partial(GUESSES[kind], seen), content.guess.settings), **mean_colour(target)}
    starts = {
        name: table if table.start is not None or name not in found else table.model_copy(update={"start": found[name]})
        for name, table in content.unknowns.items()
    }
    windows = found.get(WINDOWS)
    if isinstance(windows, list) and not scene.windows:
        scene = replace(scene, windows=tuple(windows))
    return content.model_copy(update={"unknowns": starts}), scene
