"""Experiments: a scene, a target, unknowns, and the stages of their search."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.costs import ControlCosts
from diffloom_fitting.goal_outcome import measure_goal
from diffloom_fitting.kinds import get_loss
from diffloom_fitting.losses import Loss, PixelError
from diffloom_fitting.losses.track import track_distance
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import GaussNewton
from diffloom_fitting.priors import Gaussian
from diffloom_fitting.problem import Problem
from diffloom_fitting.scene import Rollouts, Scene, sample_times
from diffloom_fitting.scene.sensor import LENS_BLUR
from diffloom_fitting.stages import LOSS, PARAMS, Stage
from diffloom_fitting.stopwatch import Stopwatch
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.several import AnyTarget
from diffloom_fitting.trust.assumed import parse_assumed, refuse_sought, seek_assumed
from diffloom_fitting.trust.goal_verdict import judge_goal
from diffloom_fitting.trust.sight import measure_followed, measure_views
from diffloom_fitting.trust.time_step import refuse_long_steps
from diffloom_fitting.trust.uncertainty import Method, Uncertainty, check_method, estimate_uncertainty
from diffloom_fitting.trust.verdict import Verdict, judge, skip_judgement
from diffloom_fitting.unknowns import Tie, Unknown, UnknownLayout, make_tie, resolve
from diffloom_fitting.unknowns.unknown import as_unknowns
from diffloom_fitting.validation import check_instance, check_names

#: Number of objectives that are cached; several starts may be in different stages.
KEPT_OBJECTIVES = 32


class AbstractExperiment(ABC):
    """Experiment that a fit runs: a problem for each stage, starts, and the judgement of the end.

    The loop, several starts, checkpoints, results and commands use this interface only. `Experiment` compares a scene
    with videos. Implementations are frozen dataclasses with these fields.

    Attributes:
        title: Heading of reports.
        stages: Stages of the fit, one after another.
        starts: Starts after the first, as values by name.
        probe: Iterations of the first stage for each start, before only the best one continues; 0 fits all starts.
        enough: Loss below which no further start is tried.
        seed: Seed of all random numbers.
        differences: True for gradients by finite differences instead of the adjoint.
        stopwatch: Time by part of the work.
        layout: Positions of the unknowns in the searched vector.
    """

    title: str
    stages: tuple[Stage, ...]
    starts: tuple[Mapping[str, Tensor], ...]
    probe: int
    enough: float | None
    seed: int
    differences: bool
    stopwatch: Stopwatch
    layout: UnknownLayout

    @abstractmethod
    def describe(self) -> str:
        """Describe the compared data, such as "30 frames of 48x48 pixels".

        Returns:
            Half a sentence.
        """

    @abstractmethod
    def objective(self) -> Problem:
        """Return the objective of all data and unknowns.

        Returns:
            The problem.
        """

    @abstractmethod
    def stage_objective(self, stage: Stage, tie: Tie | None, iteration: int) -> Problem:
        """Return the problem of a stage.

        Args:
            stage: The stage.
            tie: Map from a shorter vector, if the stage moves only some unknowns.
            iteration: Iteration of the stage, for its schedules.

        Returns:
            The problem.
        """

    @abstractmethod
    def trust(self, z: Tensor, interrupted: bool) -> tuple[Uncertainty | str, Verdict]:
        """Judge the end of a fit.

        Args:
            z: (n,), the end of the fit.
            interrupted: True if the user stopped it.

        Returns:
            The uncertainty, or the reason for having none, and the verdict.
        """

    def outcome(self, z: Tensor, start: Tensor) -> dict[str, Any]:
        """Return fields of the `Result` beyond those of every fit.

        Args:
            z: (n,), the end of the fit.
            start: (n,), its start.

        Returns:
            Fields by name.
        """
        return {}

    def lines(self, result: Any) -> list[str]:
        """Return sentences on the `Result` beyond those of every fit.

        Args:
            result: The result.

        Returns:
            Sentences.
        """
        return []

    @property
    def uses_adjoint(self) -> bool:
        """True if the fit uses gradients by the adjoint, which are then checked."""
        return True

    def check_before(self) -> None:  # noqa: B027 - few need it
        """Raise if a fit from the first start cannot succeed."""

    @property
    def truth(self) -> Mapping[str, Tensor]:
        """True values by name, if they are known."""
        return {}

    def start(self, number: int = 0) -> Tensor:
        """Return the vector of a start.

        Args:
            number: 0 for the unknowns' own start, or the number of a further one.

        Returns:
            (n,), in the searched space.
        """
        own = {slot.name: slot.start for slot in self.layout.slots}
        return self.layout.encode(own if number == 0 else {**own, **self.starts[number - 1]})

    def last_objective(self) -> Problem:
        """Return the problem of the last stage's end, for all unknowns, by which starts are compared.

        Returns:
            The problem.
        """
        stage = self.stages[-1]
        return self.stage_objective(stage, None, stage.iterations - 1)

    def tie(self, stage: Stage, z: Tensor) -> Tie | None:
        """Return the map from the unknowns that a stage moves to the full vector.

        Args:
            stage: The stage.
            z: (n,), present values of all unknowns.

        Returns:
            The map; None if the stage moves all unknowns.
        """
        if stage.only is None and not stage.shared and not stage.together:
            return None
        return make_tie(self.layout, z, stage.only, stage.shared, stage.together)


@dataclass(frozen=True)
class Experiment(AbstractExperiment):
    """A fit of a scene to videos.

    Example:
        experiment = Experiment(scene, video, [Unknown("mass", 2.0)], stages=(Stage(Adam(), 50), Stage(GaussNewton())))
        result = run_fit(experiment)

    Args:
        scene: The scene.
        target: Frames that the loss compares; for several cameras ``Targets``, one for each label.
        unknowns: Unknowns, in any form that ``fit`` takes.
        loss: The loss.
        stages: Stages of the fit, each from the end of the one before.
        holdout: Frames that only judge the result.
        starts: Starts after the first, as values by name. The best end is kept.
        probe: Iterations of the first stage for each start, before only the best one continues; 0 fits all starts.
        enough: Loss below which no further start is tried.
        prior: Term added to the loss, from values by name to a scalar.
        seed: Seed of all random numbers.
        title: Heading of the report.
        differences: True for gradients by finite differences instead of the adjoint.
        stopwatch: Time by part of the work.
        gaussian: Prior knowledge of the unknowns.
        uncertainty: Method of ±. "laplace": curvature of the loss. "blocks": at least the block jackknife over windows
            of time. "posterior": samples, which take hundreds of simulations.
        costs: Costs of the controls, added to the loss.
        assumed: Tolerances, by name, of numbers that are taken as known, in place of the default ones for recorded
            videos: a standard deviation in the unit, {"camera.fov": 5.0}; a share, "2 %"; "exact" for none; "seek" to
            seek it with the default tolerance as prior. {"all": "exact"} removes all default tolerances.
        restarts: Largest number of rounds of random starts, tried if the end of the fit does not explain the video.
    """

    scene: Scene
    target: AnyTarget
    unknowns: Sequence[Unknown]
    loss: Loss = field(default_factory=PixelError)
    stages: tuple[Stage, ...] = field(default_factory=lambda: (Stage(GaussNewton()),))
    holdout: AnyTarget | None = None
    starts: tuple[Mapping[str, Tensor], ...] = ()
    probe: int = 0
    enough: float | None = None
    prior: Callable[[Mapping[str, Tensor]], Tensor] | None = None
    seed: int = 0
    title: str = "A fit"
    differences: bool = False
    stopwatch: Stopwatch = field(default_factory=Stopwatch, compare=False)
    gaussian: Gaussian | None = None
    uncertainty: Method = "laplace"
    costs: ControlCosts | None = None
    assumed: Mapping[str, float | str] = field(default_factory=dict)
    restarts: int = 0

    def __post_init__(self) -> None:
        check_method(self.uncertainty)
        check_instance("experiment.scene", self.scene, Scene)
        object.__setattr__(self, "unknowns", as_unknowns(self.unknowns))
        object.__setattr__(self, "loss", check_instance("experiment.loss", self.loss, Loss, get_loss))  # type: ignore[type-abstract]
        stages = (self.stages,) if isinstance(self.stages, Stage) else tuple(self.stages)
        for number, stage in enumerate(stages):
            check_instance(f"experiment.stages[{number}]", stage, Stage)
        object.__setattr__(self, "stages", stages)
        if not self.stages:
            raise InputError("experiment: got no stages; expected at least one")
        if not self.unknowns:
            raise InputError("experiment.unknowns: got none; expected at least one parameter to seek")
        for number, stage in enumerate(self.stages):
            self._check_params(f"experiment.stages[{number}].params", stage)
        object.__setattr__(self, "assumed", parse_assumed(self.assumed, self.scene, self.target))
        sought, gaussian = seek_assumed(self.assumed, list(self.unknowns), self.gaussian, self.scene, self.target)
        object.__setattr__(self, "unknowns", sought)
        object.__setattr__(self, "gaussian", gaussian)
        if self.gaussian is not None:
            self.gaussian.check({slot.name: slot.start for slot in self.layout.slots})
        refuse_sought(self.assumed, {slot.name: slot for slot in self.layout.slots})
        if any(len(one) == 0 for one in self.target.by_view().values()):
            raise InputError("experiment.target: got no frames; expected at least one")
        names = {unknown.name for unknown in self.unknowns}
        for name, target in (("target", self.target), ("holdout", self.holdout)):
            if target is not None:
                _check_views(self.scene, target, name, names)

    def _check_params(self, place: str, stage: Stage) -> None:
        """Raise if a stage changes a parameter that the model does not have or that is an unknown."""
        check_names(place, list(stage.params), [*self.scene.params, LENS_BLUR])
        for unknown in self.unknowns:
            if unknown.name in stage.params:
                raise InputError(f"{place}: {unknown.name!r} is an unknown; a stage can change known parameters only")

    @cached_property
    def layout(self) -> UnknownLayout:  # type: ignore[override]
        """Positions of the unknowns in the searched vector."""
        return resolve(self.unknowns, self.scene)

    @property
    def truth(self) -> Mapping[str, Tensor]:
        return self.target.truth

    def describe(self) -> str:
        views = self.scene.viewpoints
        return " and ".join(
            f"{len(one)} frames of {views[label].size[1]}x{views[label].size[0]} pixels{f' ({label})' if label else ''}"
            for label, one in self.target.by_view().items()
        )

    def check_before(self) -> None:
        self._warn_of_edges()
        with torch.no_grad():
            refuse_long_steps(self.scene, self.layout.decode(self.start()), self.rollouts)

    def _warn_of_edges(self) -> None:
        """Warn if the last stage compares colours alone, drawn so that they have no gradient by moving outlines."""
        last = self.last_objective()
        bare = [one for one in self.target.by_view().values() if one.frames is not None and one.frames.shape[-1] == 3]
        if bare and "rgba" in last.loss.outputs and not last.scene.renderer.edge_gradients:
            warnings.warn(
                f"{type(last.scene.renderer).__name__}: its colours jump where outlines move, and this video has no "
                'masks, so the fit sees shading alone and will err; use renderer = "coverage", or compare masks '
                '(target.masks or target.segment, with loss = "silhouette")',
                stacklevel=3,
            )

    def trust(self, z: Tensor, interrupted: bool) -> tuple[Uncertainty | str, Verdict]:
        # Judged by the objective of the last stage, whose minimum the result is.
        if interrupted:
            return "interrupted", skip_judgement("interrupted by the user", "red")
        if self.target.goal:
            return "a goal is reached or not", judge_goal(self, z, measure_goal(self, z))
        last = self.last_objective()
        found = estimate_uncertainty(last, z, self.uncertainty, self.assumed)
        seen = measure_views(last, z)
        still = ("camera.", "appearance.", "position")
        moving = any(not slot.name.startswith(still) for slot in self.layout.slots)
        return found, judge(found, seen, moving, followed=measure_followed(last, z))

    def outcome(self, z: Tensor, start: Tensor) -> dict[str, Any]:
        whole = self.objective()
        aside = None if self.holdout is None or len(self.holdout) == 0 else self.objective(self.holdout)
        return {
            "holdout_loss": None if aside is None else aside.value(z).value,
            "holdout_start_loss": None if aside is None else aside.value(start).value,
            "track_pixels": track_distance(whole, z),
            "holdout_pixels": None if aside is None else track_distance(aside, z),
            "views": whole.losses(z) if len(self.scene.viewpoints) > 1 else {},
            "goal": measure_goal(self, z) if self.target.goal else None,
        }

    def objective(self, target: AnyTarget | None = None) -> Objective:
        """Return the objective of all frames of a target.

        Args:
            target: Other frames; None for those of the fit.

        Returns:
            The objective.
        """
        return Objective(
            self.scene, self.target if target is None else target, self.loss, self.layout, None, self.prior,
            self.stopwatch, self.differences, self.gaussian, self.costs, rollouts=self.rollouts,
        )  # fmt: skip

    @cached_property
    def rollouts(self) -> Rollouts:
        """Cache of the last simulations; it saves all frames of target and holdout."""
        scene, steps = self.scene, set[int]()
        for target in (self.target, self.holdout):
            for label, one in {} if target is None else target.by_view().items():
                times = (one.times + scene.viewpoints[label].time_offset).clamp(0.0, scene.steps * scene.dt)
                steps |= set(sample_times(times, scene.dt, scene.steps).save) if len(times) else set()
        return Rollouts(tuple(sorted(steps)))

    def stage_objective(self, stage: Stage, tie: Tie | None, iteration: int) -> Objective:
        """Return the objective of a stage.

        Args:
            stage: The stage.
            tie: Map from a shorter vector, if the stage moves only some unknowns.
            iteration: Iteration of the stage, for its schedules.

        Returns:
            The objective.
        """
        horizon, changes = stage.settings(iteration)
        # Cached, because searches share a batch only if scene and target are the same objects.
        key = (id(stage), horizon, *changes.items())
        if key not in self._objectives:
            if len(self._objectives) >= KEPT_OBJECTIVES:
                self._objectives.pop(next(iter(self._objectives)))
            self._objectives[key] = (stage, self._stage_objective(stage, horizon, changes))
        made = self._objectives[key][1]
        return made if tie is None else replace(made, tie=tie)

    @cached_property
    def _objectives(self) -> dict[Hashable, tuple[Stage, Objective]]:
        """Cache of stages and their objectives; the stages are kept so that their ids stay unique."""
        return {}

    def _stage_objective(self, stage: Stage, horizon: float, changes: Mapping[str, float]) -> Objective:
        loss = stage.loss or self.loss
        of_loss, of_model = (_select_prefixed(prefix, changes) for prefix in (LOSS, PARAMS))
        if of_loss:
            loss = replace(loss, **of_loss)  # type: ignore[type-var]
        scene = self.scene if stage.drawn_by is None else self.scene.with_renderer(stage.drawn_by)
        base = Objective(
            scene.with_params(of_model), self.target, loss, self.layout, None, self.prior, self.stopwatch,
            self.differences, self.gaussian, self.costs, enough=stage.stop.loss, rollouts=self.rollouts,
        )  # fmt: skip
        of_renderer = {name: value for name, value in changes.items() if not name.startswith((LOSS, PARAMS))}
        return base.with_renderer_settings(of_renderer).with_horizon(horizon)

    def last_objective(self) -> Objective:
        stage = self.stages[-1]
        return self.stage_objective(stage, None, stage.iterations - 1)


def _check_views(scene: Scene, target: AnyTarget, name: str, sought: Set[str]) -> None:
    """Raise unless every camera has a target of its size, with times that the simulation covers."""
    views = target.by_view()
    if set(views) != set(scene.viewpoints):
        raise InputError(
            f"experiment.target: got the views {_join_labels(views)}, and the scene has "
            f"{_join_labels(scene.viewpoints)}; give every camera a target under its label"
        )
    for label, one in views.items():
        size, own = one.size, scene.viewpoints[label].size
        if size is not None and size != own:
            raise InputError(
                f"experiment: the target{f' of view {label!r}' if label else ''} is {size[1]}x{size[0]} pixels and the "
                f"camera {own[1]}x{own[0]}; read the video with size={own}"
            )
        if label and len(one):
            _check_times(scene, label, one)
        elif len(one) and sought.isdisjoint(("camera.time_offset", "camera.clock")):
            _check_single_view(scene, one, name)


def _check_single_view(scene: Scene, target: Target, name: str) -> None:
    """Raise unless the simulation covers the frames of the only view."""
    times = scene.get_exposure_times(target.times + scene.viewpoint.time_offset, {})
    first, last, span = float(times.min()), float(times.max()), scene.steps * scene.dt
    if first < -1e-6 * scene.dt or last > span + 1e-6 * scene.dt:
        whose, fewer = ("held-out frames", "hold out fewer frames (target.frames)")
        if name == "target":
            whose, fewer = "frames", "use fewer frames (target.frames)"
        raise InputError(
            f"experiment.{name}: the {whose} run from {first:g} s to {last:g} s, but the simulation covers 0 s to "
            f"{span:g} s; simulate longer (time.duration) or {fewer}"
        )


def _check_times(scene: Scene, label: str, target: Target) -> None:
    """Raise unless the simulation covers the frames of a view."""
    offset, span = scene.viewpoints[label].time_offset, scene.steps * scene.dt
    first, last = (float(end) + offset for end in (target.times.min(), target.times.max()))
    if first < -1e-6 * scene.dt or last > span + 1e-6 * scene.dt:
        raise InputError(
            f"experiment: with time_offset = {offset:g} s the frames of view {label!r} run from {first:g} s to "
            f"{last:g} s of the simulation, which covers 0 s to {span:g} s; simulate longer, use fewer frames or "
            "another offset"
        )


def _select_prefixed(prefix: str, changes: Mapping[str, float]) -> dict[str, float]:
    return {name.removeprefix(prefix): value for name, value in changes.items() if name.startswith(prefix)}


def _join_labels(views: Iterable[str]) -> str:
    return ", ".join(repr(label) if label else "(one without a label)" for label in views)
