"""The verdict: whether a fit converged, saw something, determined what it sought and explains the video."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from diffloom_fitting.numbers import number
from diffloom_fitting.trust.sight import ViewStatistics
from diffloom_fitting.trust.uncertainty import FINE, SEVERAL, Uncertainty

Level = Literal["green", "amber", "red"]
LEVELS: tuple[Level, ...] = ("green", "amber", "red")
PARTS = ("converged", "visible", "identifiable", "explained")
AT_REST = 0.25  # deviations that a further step may move an unknown
LEAST_PIXELS, FEW_PIXELS = 1.0, 9.0
NOISE = 1.5  # times: what is left over at the object beside what is left elsewhere, in a video of even noise
WELL = 0.9
"""Share of what the video shows from which on a fit explains it well."""
FIFTH = 0.2
"""Share of an unknown's deviation by which the renderer's lens may move it without a word."""
HALF = 0.5
"""Share of what the video shows below which a fit does not explain it."""


@dataclass(frozen=True)
class VerdictPart:
    """One part of a verdict: its level, and why, in a sentence."""

    level: Level
    text: str


@dataclass(frozen=True)
class Verdict:
    """How far a fit's numbers can be trusted, in four sentences.

    converged: whether a further step would move the unknowns by less than their uncertainty. visible: whether the
    video shows the object. identifiable: whether its pixels determine every unknown. explained: whether what is left
    over looks like noise. undetermined: labels of unknowns, such as "mass" or "velocity[2]", that the pixels leave
    open.
    """

    converged: VerdictPart
    visible: VerdictPart
    identifiable: VerdictPart
    explained: VerdictPart
    undetermined: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """The worst of the four."""
        return max((getattr(self, part).level for part in PARTS), key=LEVELS.index)

    def findings(self) -> list[tuple[str, VerdictPart]]:
        """The four by name."""
        return [(part, getattr(self, part)) for part in PARTS]

    @property
    def reasons(self) -> str:
        """What stands in the way of green, in one line; empty when nothing does."""
        return "; ".join(finding.text for _, finding in self.findings() if finding.level != "green")

    def data(self) -> dict[str, Any]:
        """Plain data: level and the sentence of each part, and each part's own level."""
        told: dict[str, Any] = {"level": self.level}
        told |= {part: finding.text for part, finding in self.findings()}
        told["levels"] = {part: finding.level for part, finding in self.findings()}
        return told | {"undetermined": list(self.undetermined)}

    def __str__(self) -> str:
        lines = [f"verdict: {self.level}"]
        return "\n".join(lines + [f"  {part}: {finding.text}" for part, finding in self.findings()])


def skip_judgement(why: str, level: Level = "amber") -> Verdict:
    """The verdict on a fit that nobody looked at."""
    one = VerdictPart(level, f"not judged: {why}")
    return Verdict(one, one, one, one)


def judge(
    found: Uncertainty | str, seen: Sequence[ViewStatistics], moving: bool, finished: str | None = None
) -> Verdict:
    """The verdict. found: or the reason why there is none. seen: of each view. moving: whether what is sought shows
    only in motion. finished: why the fit did not come to its end, or None."""
    if isinstance(found, str):
        open_ = VerdictPart("amber", f"not judged: {found}")
        return Verdict(_stopped(finished) or open_, visible(seen, moving), open_, explained(None, seen))
    return Verdict(
        _stopped(finished) or converged(found), visible(seen, moving), identifiable(found), explained(found, seen),
        found.undetermined,
    )  # fmt: skip


def _stopped(finished: str | None) -> VerdictPart | None:
    return None if finished is None else VerdictPart("red", f"no: {finished}")


def converged(found: Uncertainty) -> VerdictPart:
    """By how far the next Gauss-Newton step would go, against the uncertainty and against a natural change."""
    # What is still on its way cannot say what is determined.
    if found.unrest <= 1.0 and found.deviation and all(_none(value) for value in found.deviation.values()):
        return VerdictPart("amber", "not judged: no unknown is determined")
    if found.posterior is not None and found.posterior.trouble is not None:
        return VerdictPart("amber", f"not judged: {found.posterior.trouble}")
    if found.unrest <= AT_REST:
        return VerdictPart("green", f"yes: a further step would move no unknown by more than {_times(found.unrest)}")
    if found.relative_step <= FINE:
        return VerdictPart(
            "green",
            f"yes: a further step would move no unknown by more than {number(found.relative_step, 2)} of itself",
        )
    told = f"a further step would move an unknown by {_times(found.unrest)}"
    if found.unrest <= 1.0:
        return VerdictPart("amber", f"nearly: {told}; run more iterations")
    return VerdictPart("red", f"no: {told}, {number(100.0 * found.relative_step, 2)} % of itself; run more iterations")


def _times(unrest: float) -> str:
    return f"{number(unrest, 2)} of its deviation" if unrest < 10.0 else f"{unrest:.3g} times its deviation"


def visible(seen: Sequence[ViewStatistics], moving: bool) -> VerdictPart:
    """By how much of the images the object covers, and whether they show anything that changes."""
    if not seen:
        return VerdictPart("green", "states were compared, not images")
    worst = max((_visible(sight, moving) for sight in seen), key=lambda f: ("green", "amber", "red").index(f.level))
    good = [f for f in (_visible(sight, moving) for sight in seen) if f.level == "green"]
    # One camera that sees it is enough to find something; that another does not is worth a word.
    return VerdictPart("amber", worst.text) if worst.level == "red" and good else worst


def _visible(sight: ViewStatistics, moving: bool) -> VerdictPart:
    where = f" (view {sight.label})" if sight.label else ""
    shown = sight.covered
    in_view = int((shown >= LEAST_PIXELS).sum())
    if sight.blank:
        return VerdictPart("red", f"no: the video shows nothing but its background{where}")
    if in_view == 0:
        most = float(shown.max())
        return VerdictPart("red", f"no: the object covers at most {number(most, 2)} of a pixel in any frame{where}")
    if moving and sight.frames < 2:
        return VerdictPart("red", f"no: one frame shows no motion{where}")
    if moving and sight.constant:
        return VerdictPart("red", f"no: the video does not change over its {sight.frames} frames{where}")
    told = f"the object covers {number(float(shown[shown >= LEAST_PIXELS].mean()), 3)} pixels on average{where}"
    if in_view < sight.frames:
        told += f" and is in view in {in_view} of {sight.frames} frames"
    if 2 * in_view < sight.frames or float(shown.max()) < FEW_PIXELS:
        return VerdictPart("amber", f"hardly: {told}")
    return VerdictPart("green", f"yes: {told}")


def identifiable(found: Uncertainty, data: str = "the pixels") -> VerdictPart:
    """By the directions in which what was compared, ``data``, does not change by more than noise and rounding."""
    if not found.open:
        by_prior = f"; {', '.join(found.by_prior)} by the prior alone" if found.by_prior else ""
        return VerdictPart("green", f"yes: {data} determine every unknown{by_prior}")
    nothing = all(_none(value) for value in found.deviation.values())
    return VerdictPart("red" if nothing else "amber", "no: " + "; ".join(found.open))


def _none(deviation: Tensor) -> bool:
    return not bool(deviation.isfinite().any())


def _misfit(times: float) -> str:
    return f"what is left over at the object is {min(times, 1e3):.3g} times larger than noise or rounding"


def _lens(found: Uncertainty) -> str:
    """Say what is wrong with the renderer as a lens; empty where nothing matters."""
    if found.lens_unknown:
        return (
            "whether the renderer draws the object in its true size is not known; install diffloom-render-coverage, "
            "which tells"
        )
    if found.lens_bias <= FIFTH:
        return ""
    return (
        f"the renderer draws the object with {100.0 * found.lens_area:.3g} % of its exact area, which moves an unknown "
        f'by {_times(found.lens_bias)}; ± is widened by it: use renderer = "coverage"'
    )


def explained(found: Uncertainty | None, seen: Sequence[ViewStatistics]) -> VerdictPart:
    """By the share of the video that the fit reproduces, and by whether windows of time agree."""
    share = min((sight.explained for sight in seen), default=1.0)
    told = f"the fit reproduces {max(0.0, 100.0 * share):.3g} % of what distinguishes the video from its background"
    if share < HALF:
        return VerdictPart("red", f"no: {told}")
    if share < WELL:
        return VerdictPart("amber", f"in part: {told}")
    if found is not None and (lens := _lens(found)):
        return VerdictPart("amber", f"in part: {lens}")
    misfit = max((sight.misfit for sight in seen), default=0.0)
    if misfit > NOISE:
        return VerdictPart("amber", f"in part: {told}, but {_misfit(misfit)}, so the model errs")
    if found is not None and found.displaced_times > SEVERAL:
        return VerdictPart(
            "amber",
            f"in part: the object is seen {number(found.displaced, 2)} pixels from where the fit draws it, "
            f"{number(found.displaced_times, 2)} times farther than noise allows, so the model errs",
        )
    if found is not None and found.windows > SEVERAL:
        return VerdictPart(
            "amber",
            f"in part: windows of time disagree {number(found.windows, 2)} times more than the noise allows, so the "
            "model errs; ± is widened to their disagreement",
        )
    if found is not None and found.step_bias > 1.0:
        return VerdictPart(
            "amber",
            f"in part: a shorter physics step would move an unknown by {_times(found.step_bias)}; ± is widened by it: "
            "use a smaller dt",
        )
    if found is not None and found.camera_bias > SEVERAL:
        return VerdictPart(
            "amber",
            f"in part: blur, brightness or lag of the camera would move an unknown by {_times(found.camera_bias)}; "
            "± is widened by it",
        )
    jackknifed = found is not None and found.method == "blocks" and found.windows > 0.0
    if found is not None and not found.images and found.noise > FINE and not jackknifed:
        return VerdictPart(
            "amber", "in part: this loss does not say which residuals are neighbours, so ± takes them as independent"
        )
    return VerdictPart("green", f"yes: {told}" if seen else "yes: what is left over looks like noise")
