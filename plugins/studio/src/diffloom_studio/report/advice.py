"""Advice after a fit: sentences, and commands to copy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from diffloom_experiments.run_folder import read_config
from diffloom_fitting import AbstractExperiment, Experiment, Result
from diffloom_fitting.scene import Scene
from diffloom_fitting.trust import AT_REST, FIFTH, FINE, SEVERAL, Uncertainty, advise_on_doubts

#: An option of a command within a sentence of advice.
_OPTION = re.compile(r"--renderer [a-z]+|--[a-z-]+ [^\s;,]*\d")


def give_advice(result: Result, experiment: AbstractExperiment | None = None) -> list[str]:
    """Return sentences of advice, the most urgent first.

    An object that is not visible cannot be fitted, and a fit that has not converged cannot be judged.

    Args:
        result: The result of a fit.
        experiment: The experiment, which gives the values in the advice; None for advice without them.
    """
    scene = experiment.scene if isinstance(experiment, Experiment) else None
    images = experiment is None or scene is not None
    if result.interrupted:
        return ["The fit was interrupted: continue it with diffloom run --resume and this folder."]
    levels = {part: finding.level for part, finding in result.verdict.findings()}
    found = []
    if result.goal is not None:
        return _advise_goal(result, levels)
    if not images:
        found = _advise_unconverged(result) if levels["converged"] != "green" else []
        if levels["identifiable"] != "green":
            found.append(
                "Fix what you know from elsewhere, add clips, or record a motion in which every unknown matters."
            )
        if levels["explained"] != "green":
            found.append("The model lacks something: add it as an unknown, or let fewer frames count.")
        return found
    if levels["visible"] != "green":
        found.append(
            "The camera hardly sees the object: move it nearer, enlarge the images (camera.size), or use frames in "
            "which the object is in view and moves."
        )
    if levels["visible"] == "red":
        return found  # other advice needs a visible object
    drawn = _advise_renderer(result, scene)
    if drawn:
        return [*found, drawn]  # nothing else helps before
    if levels["converged"] != "green":
        found += _advise_unconverged(result)
    if levels["identifiable"] != "green":
        found += _advise_open(result)
    if levels["explained"] != "green":
        found += _advise_unexplained(result, None if scene is None else scene.dt)
    return found


def _advise_renderer(result: Result, scene: Scene | None) -> str:
    """Advise another renderer, if the one of the fit keeps it from being green; empty if it does not."""
    sure = result.uncertainty
    if result.verdict.level != "green" and scene is not None and not scene.renderer.edge_gradients:
        return "The colours of this renderer jump where outlines move: fit again with --renderer coverage"
    if isinstance(sure, Uncertainty) and sure.lens_bias > FIFTH and result.verdict.explained.level != "green":
        return "The renderer draws the object too large or too small: fit again with --renderer coverage"
    return ""


def _advise_goal(result: Result, levels: Mapping[str, str]) -> list[str]:
    found = [_advise_iterations(result)] if levels["converged"] != "green" else []
    if levels["explained"] == "red":
        found.append(
            "The goal was not reached: start nearer, give several starts, use a loss that attracts from any distance "
            "(moments), or allow a larger control or more time."
        )
    return found


def _advise_unconverged(result: Result) -> list[str]:
    told = [_advise_iterations(result)]
    last = result.history[-1].loss if result.history else result.loss
    if last > 0.5 * result.start_loss:
        told.append(
            "The loss has hardly fallen: start nearer, shorten the first stage's horizon, or give several starts; "
            "diffloom landscape shows where the valleys are."
        )
    return told


def _advise_iterations(result: Result) -> str:
    """Advise twice as many iterations of the last stage, and a later stop if it had stopped before the last of them."""
    if not result.history:
        return "Run more iterations of the last stage: --iterations."
    last = result.history[-1]
    option = f"--set stages.{last.stage}.stop.change=1e-5" if "fell by less" in last.note else ""
    return f"Run more iterations of the last stage: {option or f'--iterations {max(10, 2 * last.iteration)}'}"


def _advise_open(result: Result) -> list[str]:
    names = ", ".join(result.verdict.undetermined)
    what = f"The video does not determine {names}" if names else "The video does not determine every unknown"
    return [
        f"{what}: fix what you know from elsewhere, give it a prior, add a second camera, or record a motion in which "
        "it matters."
    ]


def _advise_unexplained(result: Result, dt: float | None) -> list[str]:
    sure = result.uncertainty
    if isinstance(sure, Uncertainty):
        if doubt := advise_on_doubts(sure.ledger, sure.deviation):
            return [doubt]
        if sure.windows > SEVERAL:
            return [
                "Parts of the video ask for different values, so the model lacks something: damping, air, friction, a "
                "camera that is not where it is said to be. Add it as an unknown, or fit a shorter part."
            ]
        if sure.step_bias > 1.0:
            option = "" if dt is None else f": --set time.dt={dt / 2.0:.6g}"
            return [f"The physics step shifts the result by more than its ±: halve time.dt and fit again{option}"]
        if not sure.images and sure.noise > FINE:
            return ["Use a loss on images, such as mse: then ± knows which residuals are neighbours."]
        if sure.unrest > AT_REST:
            return ["The remaining residuals may shrink with more iterations."]
    return [
        "The model leaves much of the video unexplained: check the first frame in the difference view, then the "
        "camera, the background and the shape, and only then the physics."
    ]


def list_commands(folder: Path, result: Result, advice: list[str]) -> list[tuple[str, str]]:
    """Return what to try next as pairs (command, what it does).

    Args:
        folder: Folder of the run.
        result: Its result.
        advice: Sentences of ``give_advice``.
    """
    run = folder.name if folder.is_absolute() else folder.as_posix()
    again, file = _read_command(folder)
    found = []
    if result.interrupted and again:
        found.append((f"{again} --resume {run}", "continue the fit"))
    for option in _OPTION.findall(" ".join(advice)) if again else ():
        found.append((f"{again} {option}", "fit again, as advised"))
    if again:
        found.append((f"diffloom view {run}", "turn it in 3D, slide the unknowns"))
        found.append((f"diffloom export {run} fit.mp4", "write a video of the fit; Blender opens fit.glb"))
    single = [e for e in result.estimates if e.found.numel() == 1 and float(e.found) != 0.0]
    if file and single:
        low, high = sorted((0.5 * float(single[0].found), 2.0 * float(single[0].found)))
        over = f"{single[0].name}={low:.3g}:{high:.3g}:25"
        found.append((f"diffloom landscape {file} --over {over}", f"plot the loss over {single[0].name}"))
    return found


def _read_command(folder: Path) -> tuple[str, str]:
    """Return the command that made a run, and its experiment file; "" for folders of other origin and for the demo."""
    if not (folder / "config.json").is_file():
        return "", ""
    _, origin, name = read_config(folder)
    if origin.name == "demo" and origin.parent == Path(__file__).resolve().parents[1]:
        return "diffloom demo", ""
    return f"diffloom run {name}", name
