"""What to try next, when a fit is not green."""

from __future__ import annotations

from diffloom_fitting.result import Result
from diffloom_fitting.trust.judge import AT_REST
from diffloom_fitting.trust.uncertainty import FINE, SEVERAL, Uncertainty


def advice(result: Result) -> list[str]:
    """Sentences, the most urgent first: what is not seen cannot be fitted, and what has not converged not be judged."""
    if result.interrupted:
        return ["The fit was interrupted: go on with diffloom run --resume and this folder."]
    levels = {part: finding.level for part, finding in result.verdict.findings()}
    found = []
    if levels["visible"] != "green":
        found.append(
            "The camera hardly sees the object: move it nearer, enlarge the images (camera.size), or use frames in "
            "which the object is in view and moves."
        )
    if levels["visible"] == "red":
        return found  # what is not seen cannot be judged in any other way
    if levels["converged"] != "green":
        found += _unconverged(result)
    if levels["identifiable"] != "green":
        found += _open(result)
    if levels["explained"] != "green":
        found += _unexplained(result)
    return found


def _unconverged(result: Result) -> list[str]:
    told = ["Run more iterations of the last stage, and stop later (a smaller stop.change)."]
    last = result.history[-1].loss if result.history else result.loss
    if last > 0.5 * result.start_loss:
        told.append(
            "The loss has hardly fallen: start nearer, shorten the first stage's horizon, or give several starts; "
            "diffloom landscape shows where the valleys are."
        )
    return told


def _open(result: Result) -> list[str]:
    names = ", ".join(result.verdict.undetermined)
    what = f"The video does not determine {names}" if names else "The video does not determine every unknown"
    return [
        f"{what}: fix what you know from elsewhere, give it a prior, add a second camera, or record a motion in which "
        "it matters."
    ]


def _unexplained(result: Result) -> list[str]:
    sure = result.uncertainty
    if isinstance(sure, Uncertainty):
        if sure.windows > SEVERAL:
            return [
                "Parts of the video ask for different values, so the model lacks something: damping, air, friction, a "
                "camera that is not where it is said to be. Add it as an unknown, or fit a shorter part."
            ]
        if sure.step_bias > 1.0:
            return ["The physics step shifts the result by more than its ±: halve time.dt and fit again."]
        if not sure.images and sure.noise > FINE:
            return ["Use a loss on images, such as mse: then ± knows which residuals are neighbours."]
        if sure.unrest > AT_REST:
            return ["What is left over may go with more iterations."]
    return [
        "Much of the video is left over: check the first frame in the difference view, then the camera, the background "
        "and the shape, and only then the physics."
    ]
