"""Experiments on measured motion, which `diffloom_fitting.run_fit` runs, and `fit_motion`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_fitting import (
    AbstractExperiment,
    GaussNewton,
    Optimiser,
    Result,
    Stage,
    Stop,
    Stopwatch,
    Unknown,
    quantity,
    run_fit,
)
from diffloom_fitting.loop import FitState, Record, advance, begin
from diffloom_fitting.trust import (
    HALF,
    SEVERAL,
    WELL,
    Uncertainty,
    Verdict,
    VerdictPart,
    clustered_uncertainty,
    identifiable,
    judge_convergence,
    skip_judgement,
)
from diffloom_fitting.unknowns import Free, Slot, Tie, UnknownLayout, choose_space, make_pattern_slot, make_tie
from diffloom_motion.objective import FrameLoss, MotionObjective
from diffloom_motion.scene import JOINT_STARTS, SCALE, START, STARTS, MotionScene
from diffloom_motion.scores import Score, score_clips
from diffloom_motion.subsets import PARTS, subset_deviation

MEANING = "± is one standard deviation, estimated from how much {} disagree with each other"
EXACT = 1e-6  # residuals below are rounding [m]
MOST_SHARED = 32  # largest number of unknowns with an uncertainty
ENOUGH = 4  # clips more than unknown numbers from which on clips are not cut into parts for ±
PIECES, LEAST_PIECE = 20, 4  # parts that few clips are cut into, and smallest number of frames of a part


@dataclass(frozen=True)
class MotionStage(Stage):
    """One part of a fit to clips: a `Stage` with frames instead of images.

    ``loss_settings`` may contain the ``threshold`` of the loss [m]. Settings of renderers and models do not apply.

    Args:
        optimiser: The optimiser.
        iterations: Largest number of iterations.
        stop: Conditions for ending the stage earlier.
        frames: Number of frames of each clip that count; None for all. ``horizon``, a part of the longest clip, bounds
            it too.
        flight: True to compare only frames before the first contact.
        fixed: Names of unknowns that do not move.
    """

    optimiser: Optimiser = field(default_factory=GaussNewton)
    iterations: int = 20
    stop: Stop = field(default_factory=lambda: Stop(change=1e-3))
    frames: int | None = None
    flight: bool = False
    fixed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.stop.patience is None and isinstance(self.optimiser, GaussNewton):
            object.__setattr__(self, "stop", replace(self.stop, patience=2))
        super().__post_init__()
        for name in ("renderer", "loss", "params", "shared", "together"):
            if getattr(self, name):
                raise InputError(f"stage.{name}: got {getattr(self, name)}; it does not apply to measured motion")
        if set(self.loss_settings) - {"threshold"}:
            raise InputError(f"stage.loss_settings: got {sorted(self.loss_settings)}; expected threshold only")


#: Stage that fits each clip's start to its flight.
SETTLING = MotionStage(GaussNewton(width=1e-3), 8, stop=Stop(change=1e-4), flight=True)


@dataclass(frozen=True)
class MotionExperiment(AbstractExperiment):
    """A fit of a model to recorded clips.

    Args:
        scene: Clips of the fit under one model.
        unknowns: Unknowns that all clips share: parameters of the model, or ``scale``, the recorded length per metre.
            ``mass[1]`` or ``mass[forearm]`` is one row of a parameter, by number or by the name of the link.
        stages: Stages of the fit, one after another.
        loss: Loss of a frame's error.
        holdout: Further clips under the same model, scored from their own starts.
        starts: Starts after the first, as values by name.
        probe: Iterations of each start before the best one continues; 0 runs all starts to their end.
        enough: Loss below which no further start is tried.
        seed: Seed of all random numbers.
        title: Heading of the report.
        known: Further values by name.
        true_values: True values by name, for synthesised recordings.
        documented: Values from other sources, shown beside the estimates.
        width: Size of the body [m] to which position errors are relative.
        differences: Not used for measured motion.
        stopwatch: Time by part of the work.
    """

    scene: MotionScene
    unknowns: Sequence[Unknown]
    stages: tuple[Stage, ...] = field(default_factory=lambda: (MotionStage(),))
    loss: FrameLoss = field(default_factory=FrameLoss)
    holdout: MotionScene | None = None
    starts: tuple[Mapping[str, Tensor], ...] = ()
    probe: int = 0
    enough: float | None = None
    seed: int = 0
    title: str = "A fit of measured motion"
    known: Mapping[str, Tensor] = field(default_factory=dict)
    true_values: Mapping[str, Any] = field(default_factory=dict)
    documented: Mapping[str, Any] = field(default_factory=dict)
    width: float | None = None
    differences: bool = False
    stopwatch: Stopwatch = field(default_factory=Stopwatch, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(self.stages))
        if not self.stages:
            raise InputError("experiment: got no stages; expected at least one")
        for stage in self.stages:
            self.list_moving(stage)

    @cached_property
    def shared(self) -> tuple[Slot, ...]:
        """Slots of the unknowns that all clips share."""
        return tuple(_slot(unknown, self.scene) for unknown in self.unknowns)

    def shared_values(self, given: Mapping[str, Any] | None = None) -> dict[str, Tensor]:
        """Return the parameters that all clips share.

        Args:
            given: Values by name that replace the starts of the unknowns.

        Returns:
            Parameters by name.
        """
        shared = UnknownLayout(self.shared, torch.float64)
        numbers = {slot.name: slot.start for slot in self.shared}
        numbers |= {name: torch.as_tensor(value, dtype=torch.float64) for name, value in (given or {}).items()}
        return shared.decode(shared.encode(numbers))

    @cached_property
    def layout(self) -> UnknownLayout:  # type: ignore[override]
        own = self.scene.rules.own
        slots = list(self.shared)
        if own is not None:
            settled = settle_starts(self.scene, {**self.known, **self.shared_values()}) if self.shared else {}
            for name, deviation in own.deviations.items():
                shape = (len(self.scene.clips), own.width(name))
                start = settled.get(START + name, torch.zeros(shape, dtype=torch.float64))
                unit = (STARTS | JOINT_STARTS)[name]
                slots.append(Slot(START + name, unit, shape, Free(deviation), start))
        return UnknownLayout(tuple(slots), torch.float64)

    @property
    def truth(self) -> Mapping[str, Tensor]:
        return {name: torch.as_tensor(value, dtype=torch.float64) for name, value in self.true_values.items()}

    def describe(self) -> str:
        aside = 0 if self.holdout is None else len(self.holdout.clips)
        return f"{len(self.scene.clips)} clips, {aside} in the holdout"

    @property
    def uses_adjoint(self) -> bool:
        return not all(isinstance(stage.optimiser, GaussNewton) for stage in self.stages)

    def objective(self) -> MotionObjective:
        return MotionObjective(self.scene, self.layout, self.loss, known=self.known, stopwatch=self.stopwatch)

    def last_objective(self) -> MotionObjective:
        return self.stage_objective(self.stages[-1], None, self.stages[-1].iterations - 1)

    def stage_objective(self, stage: Stage, tie: Tie | None, iteration: int) -> MotionObjective:
        horizon, changes = stage.settings(iteration)
        longest = max(len(clip) for clip in self.scene.clips)
        frames = stage.frames if isinstance(stage, MotionStage) else None
        if horizon < 1.0:
            frames = min(frames or longest, max(2, math.ceil(horizon * longest)))
        threshold = changes.get("loss.threshold", self.loss.threshold)
        return replace(
            self.objective(), loss=replace(self.loss, threshold=threshold), frames=frames,
            flight=isinstance(stage, MotionStage) and stage.flight, tie=tie, enough=stage.stop.loss,
        )  # fmt: skip

    def list_moving(self, stage: Stage) -> list[str]:
        """Return the names of the shared unknowns that a stage moves.

        Args:
            stage: The stage.

        Returns:
            Names, in the order of the unknowns.
        """
        names = [unknown.name for unknown in self.unknowns]
        fixed = stage.fixed if isinstance(stage, MotionStage) else ()
        for place, given in (("fixed", fixed), ("only", stage.only or ())):
            for name in given:
                if name not in names:
                    told = f"there is no unknown {name!r}{suggest_name(name, names) or '.'}"
                    raise InputError(f"stages.{place}: {told} Expected some of {', '.join(names)}")
        return [name for name in names if name not in fixed and (stage.only is None or name in stage.only)]

    def tie(self, stage: Stage, z: Tensor) -> Tie | None:
        return self._tie(self.list_moving(stage), z)

    def _tie(self, moving: Sequence[str], z: Tensor) -> Tie | None:
        if len(moving) == len(self.unknowns):
            return None
        own = [slot.name for slot in self.layout.slots[len(self.shared) :]]
        return make_tie(self.layout, z, [*moving, *own], ())

    def trust(self, z: Tensor, interrupted: bool) -> tuple[Uncertainty | str, Verdict]:
        if interrupted:
            return "interrupted", skip_judgement("interrupted by the user", "red")
        found = self._uncertainty(z)
        visible, explained = self._visible(), self._judge_explanation(z)
        if isinstance(found, str):
            open_ = VerdictPart("amber", f"not judged: {found}")
            return found, Verdict(open_, visible, open_, explained)
        found = self._widen_by_subsets(found, z)
        parts = judge_convergence(found), visible, identifiable(found, "the samples"), explained
        return found, Verdict(*parts, found.undetermined)

    def _widen_by_subsets(self, found: Uncertainty, z: Tensor) -> Uncertainty:
        """Return ± that is at least what fits to parts of the clips tell."""
        told = subset_deviation(self, z)
        if not told:
            return found
        wider = {name: torch.maximum(value, told.get(name, value)) for name, value in found.deviation.items()}
        return replace(found, deviation=wider, meaning=f"{found.meaning}, one by one and in {PARTS} parts fitted alone")

    def _uncertainty(self, z: Tensor) -> Uncertainty | str:
        """Return the uncertainty of each unknown in the last stage that moved it; the clips' own starts move along."""
        left, found = [unknown.name for unknown in self.unknowns], list[Uncertainty]()
        for stage in reversed(self.stages):
            moving = [name for name in self.list_moving(stage) if name in left]
            if not moving:
                continue
            left = [name for name in left if name not in moving]
            tie = self._tie(moving, z)
            short = z if tie is None else tie.reduce(z)
            objective = self.stage_objective(stage, tie, stage.iterations - 1)
            layout = UnknownLayout(tuple(slot for slot in self.shared if slot.name in moving), torch.float64)
            if layout.size > MOST_SHARED:
                return f"not computed for {layout.size} unknowns (at most {MOST_SHARED}); seek fewer"
            told = self._stage_uncertainty(objective, layout, short, getattr(stage.optimiser, "width", None))
            if isinstance(told, Uncertainty):
                found.append(told)
            elif not found:
                return told
        last = found[0]
        return replace(
            last, deviation={name: value for each in found for name, value in each.deviation.items()},
            unrest=max(each.unrest for each in found), relative_step=max(each.relative_step for each in found),
            open=tuple(text for each in found for text in each.open),
            undetermined=tuple(label for each in found for label in each.undetermined),
        )  # fmt: skip

    def _stage_uncertainty(
        self, objective: MotionObjective, layout: UnknownLayout, z: Tensor, width: float | None
    ) -> Uncertainty | str:
        """Return the uncertainty of the unknowns of a stage, by clips, or by parts of clips where there are few.

        Errors of neighbouring frames are alike, so parts are taken in two lengths and the larger ± counts.
        """
        noise, clips = math.sqrt(objective.value(z).value), len(self.scene.clips)
        frames = min(objective.frames or len(clip) for clip in self.scene.clips)
        least = layout.size + ENOUGH
        blocks = min(math.ceil(max(PIECES, 2 * least) / clips), frames // LEAST_PIECE)
        found: list[Uncertainty | str] = []
        for count in (1,) if clips >= least or blocks < 2 else (blocks, (blocks + 1) // 2):
            bend, pulls = objective.linearise(z, width, count).reduce()
            data = "the clips" if count == 1 else f"parts of {frames // count} frames"
            meaning = MEANING.format(data)
            found.append(clustered_uncertainty(layout, z[: layout.size], bend, pulls, noise, data, meaning))
        made = [each for each in found if isinstance(each, Uncertainty)]
        if not made:
            return found[0]
        wide = {name: torch.stack([each.deviation[name] for each in made]).amax(dim=0) for name in made[0].deviation}
        return replace(
            made[0], deviation=wide, open=tuple(dict.fromkeys(text for each in made for text in each.open)),
            undetermined=tuple(dict.fromkeys(label for each in made for label in each.undetermined)),
        )  # fmt: skip

    def _visible(self) -> VerdictPart:
        """Judge the share of measured samples."""
        seen = torch.cat([torch.as_tensor(clip.weight) > 0.0 for clip in self.scene.clips])
        share = float(seen.double().mean())
        told = f"{100.0 * share:.3g} % of {len(seen)} frames were measured"
        if share >= HALF:
            return VerdictPart("green", f"yes: {told}")
        return VerdictPart("amber", f"hardly: {told}, less than half; choose clips with fewer gaps (clips.fit)")

    def _judge_explanation(self, z: Tensor) -> VerdictPart:
        """Judge the share of the motion that is reproduced, and errors after the first contact relative to those
        before.
        """
        if all(clip.fixed for clip in self.scene.clips):
            return self._judge_joints(z)
        last, left, moved, parts = self.last_objective(), 0.0, 0.0, [list[Tensor](), list[Tensor]()]
        values = {**self.known, **self.layout.decode(z)}
        with torch.no_grad():
            for group in self.scene.groups:
                error = self.scene.errors(group, values, last.frames)[0].square().sum(dim=2)
                flight, place = group.flight[: len(error)] > 0.0, group.position[: len(error)]
                seen = (group.weight[: len(error)] > 0.0) & (flight | (not last.flight))
                left += float(error[seen].sum())
                moved += float((place - place[:1]).square().sum(dim=2)[seen].sum())
                for part, chosen in zip(parts, (flight, ~flight), strict=True):
                    part.append(error[chosen & seen])
        share = 1.0 - left / moved if moved > 0.0 else 1.0
        told = f"the fit follows {max(0.0, 100.0 * share):.3g} % of the motion"
        poor = judge_share(share, told)
        if poor is not None:
            return poor
        before, after = (float(torch.cat(part).mean().nan_to_num(0.0).sqrt()) for part in parts)
        if after > SEVERAL * max(before, EXACT):
            return VerdictPart(
                "amber",
                f"in part: {told}, but after the first contact positions are off by {1e3 * after:.3g} mm, "
                f"{min(after / max(before, EXACT), 1e3):.2g} times as much as in flight, so the model of contact errs",
            )
        return VerdictPart("green", f"yes: {told}")

    def _judge_joints(self, z: Tensor) -> VerdictPart:
        """Judge the share of the joints' motion that is reproduced, joint by joint, within a clip."""
        last, values = self.last_objective(), {**self.known, **self.layout.decode(z)}
        left = moved = torch.zeros(1, dtype=torch.float64)
        with torch.no_grad():
            for group in self.scene.groups:
                off = self.scene.errors(group, values, last.frames)[2]
                seen = (group.weight[: len(off)] > 0.0)[..., None].to(off.dtype)
                mean = (group.joints[: len(off)] * seen).sum(dim=0) / seen.sum(dim=0).clamp(min=1.0)
                left = left + (off.square() * seen).sum(dim=(0, 1))
                moved = moved + ((group.joints[: len(off)] - mean).square() * seen).sum(dim=(0, 1))
        shares = 1.0 - left / moved.clamp(min=EXACT**2)
        worst = int(shares.argmin())
        told = (
            f"the fit follows {max(0.0, 100.0 * float(shares[worst])):.3g} % of the motion of joint {worst}, its worst"
        )
        return judge_share(float(shares[worst]), told) or VerdictPart("green", f"yes: {told}")

    def outcome(self, z: Tensor, start: Tensor) -> dict[str, Any]:
        names = [slot.name for slot in self.shared]
        found, began = ({**self.known, **self.layout.decode(each)} for each in (z, start))
        scores = {"fit": score_clips(self.scene, found)}
        if self.holdout is None:
            return {"scores": scores}
        losses = []
        for part, values in (("holdout", found), ("before", began)):
            # Holdout clips start from the frames before their first contact alone.
            values = {**self.known, **{name: values[name] for name in names}}
            values |= settle_starts(self.holdout, values)
            scores[part] = score_clips(self.holdout, values)
            losses.append(mean_loss(self.holdout, self.loss, values))
        return {"scores": scores, "holdout_loss": losses[0], "holdout_start_loss": losses[1]}

    def lines(self, result: Result) -> list[str]:
        parts = {"fit": "clips of the fit", "holdout": "holdout clips",
                 "before": "holdout clips with the values at the start"}  # fmt: skip
        told = [f"{parts[part]}: {Score(each).words(self.width)}" for part, each in result.scores.items()]
        return told + [f"documented: {name} {value}" for name, value in self.documented.items()]


def fit_motion(
    scene: MotionScene, unknowns: Sequence[Unknown], stages: Sequence[Stage] = (MotionStage(),), *,
    loss: str = "squares", threshold: float = 1.0, holdout: MotionScene | None = None, seed: int = 0,
    observer: Callable[[FitState, Record], None] | None = None,
) -> Result:  # fmt: skip
    """Fit the unknowns that clips share, and each clip's own start if the scene's rules free it.

    Example:
        found = fit_motion(scene, [Unknown("friction", 0.3)])
        print(found, found.scores["fit"].mean_position)

    Args:
        scene: Clips of the fit.
        unknowns: Unknowns that the clips share, such as ``Unknown("friction", 0.3)``.
        stages: Stages of the fit, one after another.
        loss: "squares", or "huber" or "cauchy", which give less weight to errors beyond ``threshold``.
        threshold: Error [m] beyond which huber and cauchy give less weight.
        holdout: Further clips, scored from their own starts.
        seed: Seed of optimisers that draw numbers.
        observer: Called after each iteration with the state that would resume it, and its record.

    Returns:
        The result; its ``scores`` are those of the clips of the "fit" and, with holdout clips, of the "holdout", and of
        the holdout with the values that the unknowns started from ("before").

    Raises:
        InputError: There are no unknowns, or an unknown is not a parameter of the model.
    """
    if not unknowns:
        raise InputError("unknowns: got none; expected at least one, such as friction")
    experiment = MotionExperiment(scene, tuple(unknowns), tuple(stages), FrameLoss(loss, threshold), holdout, seed=seed)
    return run_fit(experiment, observer=observer)


def settle_starts(scene: MotionScene, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Find the corrections of each clip's start that follow its flight best.

    Args:
        scene: The clips.
        values: Values of the unknowns by name.

    Returns:
        Corrections by name; empty unless the rule of the starts is "fitted".
    """
    if scene.rules.start != "fitted" or scene.rules.own is None or not scene.own:
        return {}
    # A robust loss, because hands touch the body in the first frames of some clips.
    loss = FrameLoss("huber", 2.0 * scene.rules.own.noise)
    experiment = MotionExperiment(scene, (), (SETTLING,), loss, known=dict(values))
    state = begin(experiment)
    while not state.finished:
        state, _ = advance(experiment, state)
    return experiment.layout.decode(state.z)


def judge_share(share: float, told: str) -> VerdictPart | None:
    """Judge the share of the motion that a fit follows; None if it is large enough.

    Args:
        share: The share, at most 1.
        told: The share in words.
    """
    if share < HALF:
        return VerdictPart(
            "red",
            f"no: {told}; below {100.0 * HALF:g} % the numbers do not describe it: check the model and [recording]",
        )
    if share < WELL:
        return VerdictPart("amber", f"in part: {told}, less than {100.0 * WELL:g} %, so the model errs")
    return None


def mean_loss(scene: MotionScene, loss: FrameLoss, values: Mapping[str, Tensor]) -> float:
    """Return the mean loss over whole clips [m^2]."""
    with torch.no_grad():
        parts = [float(loss.weigh(scene.residuals(group, values))[0].sum()) for group in scene.groups]
    return sum(parts) / len(scene.clips)


def _slot(unknown: Unknown, scene: MotionScene) -> Slot:
    """Return the slot of an unknown that clips share."""
    base = unknown.name.partition("[")[0]
    specs = {spec.name: spec for spec in scene.model.specs if spec.differentiable}  # type: ignore[attr-defined]
    if base != SCALE and base not in specs:
        allowed = [*specs, SCALE]
        raise InputError(f"unknown {unknown.name!r}: no such parameter{suggest_name(base, allowed) or '.'} "
                         f"Expected one of {', '.join(allowed)}")  # fmt: skip
    spec = specs.get(base)
    unit, bounds = ("", (0.0, None)) if spec is None else (spec.unit, spec.bounds)
    given = scene.rules.params.get(unknown.name) if unknown.start is None else unknown.start
    if given is None:
        raise InputError(f"unknown {unknown.name!r}: it has no value in [params]; give it a start")
    if not isinstance(given, Tensor):
        given = torch.tensor(quantity(given, unit, f"unknown {unknown.name!r}"), dtype=torch.float64)
    start = given.detach().to(torch.float64)
    if unknown.each or unknown.only is not None:
        raise InputError(f"unknown {unknown.name!r}: got each or only; name one row, such as {base}[0]")
    if unknown.along is not None:
        full = () if spec is None else spec.full_shape(scene.model.axes)  # type: ignore[attr-defined]
        return make_pattern_slot(unknown, unit, bounds, full, start)
    space = choose_space(bounds if unknown.bounds is None else unknown.bounds, unknown.space, unknown.scale)
    return Slot(unknown.name, unit, tuple(start.shape), space, start)
