"""The verdict on a fit in four parts: converged, visible, identifiable and explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from diffloom_fitting.numbers import format_number
from diffloom_fitting.trust.coarse_misfit import SIDE
from diffloom_fitting.trust.ledger_words import describe_doubts
from diffloom_fitting.trust.sight import ViewStatistics
from diffloom_fitting.trust.uncertainty import FINE, SEVERAL, Uncertainty

Level = Literal["green", "amber", "red"]
LEVELS: tuple[Level, ...] = ("green", "amber", "red")
PARTS = ("converged", "visible", "identifiable", "explained")
AT_REST = 0.25  # largest change of an unknown by one more step, in standard deviations, that counts as converged
LEAST_PIXELS, FEW_PIXELS = 1.0, 9.0
ITERATIONS = "key iterations of the last stage"
MISSING = "add the missing effect, such as damping, air or friction, as an unknown"
NOISE = 1.5  # largest ratio of the rms residual on the object to that elsewhere, in a video of uniform noise
WELL = 0.9
"""Share of the video's contrast that a fit must reproduce to be green."""
FIFTH = 0.2
"""Largest change of an unknown by the renderer's bias, in standard deviations, of a green fit."""
HALF = 0.5
"""Share of the video's contrast below which a fit is red."""


@dataclass(frozen=True)
class VerdictPart:
    """One part of a verdict: its level, and the reason in a sentence.

    Args:
        level: "green", "amber" or "red".
        text: Sentence with the finding, its consequence and the key to change.
    """

    level: Level
    text: str


@dataclass(frozen=True)
class Verdict:
    """Trust in a fit's numbers, in four parts.

    Args:
        converged: Would one more step move the unknowns by less than their uncertainty?
        visible: Does the video show the object?
        identifiable: Do the pixels determine every unknown?
        explained: Do the residuals look like noise?
        undetermined: Labels of the unknowns that the pixels leave open, such as "mass" or "velocity[2]".
    """

    converged: VerdictPart
    visible: VerdictPart
    identifiable: VerdictPart
    explained: VerdictPart
    undetermined: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """The worst level of the four parts."""
        return max((getattr(self, part).level for part in PARTS), key=LEVELS.index)

    def findings(self) -> list[tuple[str, VerdictPart]]:
        """Return the four parts with their names.

        Returns:
            Pairs of a name, such as "converged", and its part.
        """
        return [(part, getattr(self, part)) for part in PARTS]

    @property
    def reasons(self) -> str:
        """The parts that are not green, in one line; empty if all are green."""
        return "; ".join(f"{part}: {finding.text}" for part, finding in self.findings() if finding.level != "green")

    def data(self) -> dict[str, Any]:
        """Return the verdict as plain data.

        Returns:
            The overall level, the sentence of each part, the level of each part, and the undetermined labels.
        """
        told: dict[str, Any] = {"level": self.level}
        told |= {part: finding.text for part, finding in self.findings()}
        told["levels"] = {part: finding.level for part, finding in self.findings()}
        return told | {"undetermined": list(self.undetermined)}

    def __str__(self) -> str:
        lines = [f"verdict: {self.level}"]
        return "\n".join(lines + [f"  {part}: {finding.text}" for part, finding in self.findings()])


def skip_judgement(why: str, level: Level = "amber") -> Verdict:
    """Return a verdict whose parts all say that the fit was not judged.

    Args:
        why: The reason, for the user.
        level: Level of all four parts.

    Returns:
        The verdict.
    """
    one = VerdictPart(level, f"not judged: {why}")
    return Verdict(one, one, one, one)


def judge(
    found: Uncertainty | str, seen: Sequence[ViewStatistics], moving: bool, finished: str | None = None,
    followed: float | None = None,
) -> Verdict:  # fmt: skip
    """Judge a fit.

    Args:
        found: The uncertainty, or the reason for having none.
        seen: Statistics of each view.
        moving: True if the unknowns show only in motion.
        finished: The reason if the fit did not come to its end, else None.
        followed: Share of the motion of measured states that the fit reproduces; None if images were compared.

    Returns:
        The verdict.
    """
    if isinstance(found, str):
        open_ = VerdictPart("amber", f"not judged: {found}")
        return Verdict(
            _judge_stop(finished) or open_, visible(seen, moving), open_, judge_explanation(None, seen, followed)
        )
    return Verdict(
        _judge_stop(finished) or judge_convergence(found), visible(seen, moving), identifiable(found),
        judge_explanation(found, seen, followed),
        found.undetermined,
    )  # fmt: skip


def _judge_stop(finished: str | None) -> VerdictPart | None:
    return None if finished is None else VerdictPart("red", f"no: {finished}")


def judge_convergence(found: Uncertainty) -> VerdictPart:
    """Compare the next Gauss-Newton step with the uncertainty and with a natural change of the unknowns.

    Args:
        found: The uncertainty.

    Returns:
        The part "converged" of a verdict.
    """
    # A fit that is still moving cannot tell which unknowns are determined.
    if found.unrest <= 1.0 and found.deviation and all(_none(value) for value in found.deviation.values()):
        return VerdictPart("amber", "not judged: no unknown is determined; see identifiable")
    if found.posterior is not None and found.posterior.trouble is not None:
        return VerdictPart("amber", f"not judged: {found.posterior.trouble}")
    if found.unrest <= AT_REST:
        return VerdictPart("green", f"yes: one more step would change no unknown by more than {_times(found.unrest)}")
    if found.relative_step <= FINE:
        return VerdictPart(
            "green",
            f"yes: one more step would change no unknown by more than {format_number(found.relative_step, 2)} of "
            "its value",
        )
    told = f"one more step would change an unknown by {_times(found.unrest)}"
    if found.unrest <= 1.0:
        return VerdictPart("amber", f"nearly: {told}; run more iterations ({ITERATIONS})")
    return VerdictPart(
        "red",
        f"no: {told} ({format_number(100.0 * found.relative_step, 2)} % of its value), so the fit stopped before "
        "the minimum; "
        f"run more iterations ({ITERATIONS})",
    )


def _times(unrest: float) -> str:
    return f"{format_number(unrest, 2) if unrest < 10.0 else format(unrest, '.3g')} standard deviations"


def visible(seen: Sequence[ViewStatistics], moving: bool) -> VerdictPart:
    """Judge how much of the images the object covers, and whether they change over time."""
    if not seen:
        return VerdictPart("green", "yes: states were compared, not images")
    worst = max((_visible(sight, moving) for sight in seen), key=lambda f: ("green", "amber", "red").index(f.level))
    good = [f for f in (_visible(sight, moving) for sight in seen) if f.level == "green"]
    # One camera that shows the object is enough for a fit; a second one that does not deserves a warning.
    return VerdictPart("amber", worst.text) if worst.level == "red" and good else worst


def _visible(sight: ViewStatistics, moving: bool) -> VerdictPart:
    where = f" (view {sight.label})" if sight.label else ""
    shown = sight.covered
    in_view = int((shown >= LEAST_PIXELS).sum())
    if sight.blank:
        return VerdictPart("red", f"no: the video shows nothing but its background{where}; check [target]")
    if in_view == 0:
        most = float(shown.max())
        return VerdictPart(
            "red",
            f"no: the object covers at most {format_number(most, 2)} of a pixel in any frame{where}; check [camera] "
            "and the "
            "start of the motion",
        )
    if moving and sight.frames < 2:
        return VerdictPart("red", f"no: one frame shows no motion{where}; use a video of several frames")
    if moving and sight.constant:
        return VerdictPart(
            "red",
            f"no: the video does not change over its {sight.frames} frames{where}; choose a part in which the object "
            "moves (target.begin and target.duration)",
        )
    told = f"the object covers {format_number(float(shown[shown >= LEAST_PIXELS].mean()), 3)} pixels on average{where}"
    if in_view < sight.frames:
        told += f" and is in view in {in_view} of {sight.frames} frames"
    if 2 * in_view < sight.frames or float(shown.max()) < FEW_PIXELS:
        return VerdictPart("amber", f"hardly: {told}; move the camera nearer or enlarge its images (camera.size)")
    return VerdictPart("green", f"yes: {told}")


def identifiable(found: Uncertainty, data: str = "the pixels") -> VerdictPart:
    """Judge the directions along which the compared data change by no more than noise and rounding.

    Args:
        found: The uncertainty.
        data: Name of the compared data in sentences.

    Returns:
        The part "identifiable" of a verdict.
    """
    if not found.open:
        by_prior = f", except {', '.join(found.by_prior)}, which only the prior determines" if found.by_prior else ""
        return VerdictPart("green", f"yes: {data} determine every unknown{by_prior}")
    nothing = all(_none(value) for value in found.deviation.values())
    advice = "fix a value that you know from elsewhere, or give it a prior (prior.gaussian)"
    return VerdictPart("red" if nothing else "amber", f"no: {'; '.join(found.open)}; {advice}")


def _none(deviation: Tensor) -> bool:
    return not bool(deviation.isfinite().any())


def _lens(found: Uncertainty) -> str:
    """Describe the error of the drawn size by the renderer; empty if it does not matter."""
    if found.lens_unknown:
        return (
            "the size that the renderer draws was not compared with the exact one; install diffloom-render-coverage, "
            "which draws it exactly"
        )
    if found.lens_bias <= FIFTH:
        return ""
    return (
        f"the renderer draws the object with {100.0 * found.lens_area:.3g} % of its exact area, so an unknown changes "
        f'by {_times(found.lens_bias)}; the uncertainty covers this change; use renderer = "coverage"'
    )


def judge_explanation(
    found: Uncertainty | None, seen: Sequence[ViewStatistics], followed: float | None = None
) -> VerdictPart:
    """Judge the share of the data that the fit reproduces, and whether the residuals look like noise.

    Args:
        found: The uncertainty; None without one.
        seen: Statistics of each view.
        followed: Share of the motion of measured states that the fit reproduces; None if images were compared.

    Returns:
        The part "explained" of a verdict.
    """
    share = min((sight.explained for sight in seen), default=1.0 if followed is None else followed)
    told = f"the fit reproduces {max(0.0, 100.0 * share):.3g} % of the contrast between the video and its background"
    if not seen:
        told = "the residuals look like noise"
        told = told if followed is None else f"the fit follows {max(0.0, 100.0 * share):.3g} % of the states' motion"
    if share < HALF:
        return VerdictPart(
            "red",
            f"no: {told}; below {100.0 * HALF:g} % the numbers do not describe the data: check the model, the camera "
            "and the start",
        )
    if share < WELL:
        return VerdictPart("amber", f"in part: {told}, less than {100.0 * WELL:g} %, so the model errs; {MISSING}")
    if found is not None and (lens := _lens(found)):
        return VerdictPart("amber", f"in part: {lens}")
    misfit = max((sight.misfit for sight in seen), default=0.0)
    if misfit > NOISE:
        return VerdictPart(
            "amber",
            f"in part: {told}, but the residuals on the object are {min(misfit, 1e3):.3g} times larger than noise or "
            f"rounding, so the model errs; {MISSING}",
        )
    if found is not None and (doubt := describe_doubts(found.ledger, found.deviation)):
        return VerdictPart("amber", f"in part: {doubt}")
    if found is not None and found.coarse_misfit > SEVERAL:
        return VerdictPart(
            "amber",
            f"in part: {told}, but means of the residuals over squares of {SIDE} pixels are "
            f"{min(found.coarse_misfit, 1e3):.3g} times larger on the object than elsewhere, beyond the tolerances of "
            f"what the fit takes as known, so the model or its colours err; {MISSING}",
        )
    if found is not None and found.displaced_times > SEVERAL:
        return VerdictPart(
            "amber",
            f"in part: the video shows the object {format_number(found.displaced, 2)} pixels from where the fit "
            "draws it, "
            f"{format_number(found.displaced_times, 2)} times farther than noise allows, so the model errs; the "
            f"uncertainty grows by that factor; {MISSING}",
        )
    if found is not None and found.windows > SEVERAL:
        return VerdictPart(
            "amber",
            f"in part: windows of time disagree {format_number(found.windows, 2)} times more than noise allows: "
            "another part "
            "of the video would give other values, so the model errs; the uncertainty covers their disagreement; "
            f"{MISSING}",
        )
    if found is not None and found.step_bias > 1.0:
        return VerdictPart(
            "amber",
            f"in part: a shorter physics step would change an unknown by {_times(found.step_bias)}; the uncertainty "
            "covers this change; use a smaller time.dt",
        )
    if found is not None and found.camera_bias > SEVERAL:
        return VerdictPart(
            "amber",
            f"in part: blur, brightness or lag of the camera may change an unknown by {_times(found.camera_bias)}; "
            "the uncertainty covers this change; set exposure, gain, gamma or time_offset of [camera], or seek them",
        )
    jackknifed = found is not None and found.method == "blocks" and found.windows > 0.0
    if found is not None and not found.images and found.noise > FINE and not jackknifed:
        return VerdictPart(
            "amber",
            "in part: this loss does not say which residuals are neighbours, so the uncertainty takes them "
            'as independent and may be too small; set uncertainty = "blocks"',
        )
    return VerdictPart("green", f"yes: {told}")
