"""The problem of a fit: a scene compared with a target, from the searched vector to loss, gradient and residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import Gradient, InputError, NoGradient, SimulationError
from diffloom.validation import suggest_name
from diffloom_fitting.costs import ControlCosts
from diffloom_fitting.driver import group_by
from diffloom_fitting.losses import Loss
from diffloom_fitting.priors import Gaussian
from diffloom_fitting.problem import Evaluate, Evaluation, Problem, Question
from diffloom_fitting.scene import (
    MOST_SCENES,
    Rollouts,
    Sampling,
    Scene,
    Sensor,
    View,
    join_scenes,
    render_batch_views,
    sample_times,
)
from diffloom_fitting.stopwatch import Lap, Stopwatch
from diffloom_fitting.targets.several import AnyTarget
from diffloom_fitting.unknowns import Tie, UnknownLayout

__all__ = ["Evaluation", "Objective"]

FEW = 64  # largest number of residuals with a gradient each
#: Largest number of stored numbers in all simulations with gradient at once.
MOST_KEPT = 2**25

#: An objective and a point.
Place = tuple["Objective", Tensor]


class _Graph:
    """Autograd graph of losses that were simulated together; one backward pass serves all of them."""

    def __init__(self) -> None:
        self.spent = False


@dataclass(frozen=True, eq=False)
class _KeptEvaluation:
    """A loss with its graph, for a later gradient.

    Args:
        point: The point, a leaf of the graph.
        loss: The loss.
        views: Views at the point.
        graph: Graph that several losses may share.
    """

    point: Tensor
    loss: Tensor
    views: Mapping[str, View]
    graph: _Graph


@dataclass(frozen=True)
class Objective(Problem):
    """A scene compared with a target, as a function of the vector z of unknowns.

    With several cameras, each has its own target, and the loss is the mean over views.

    Args:
        scene: The scene.
        target: The target, or one for each view.
        loss: The loss.
        layout: Positions of the unknowns in the vector.
        tie: Map from a shorter vector, if only some unknowns move.
        prior: Term added to the loss, from values by name to a scalar.
        stopwatch: Time by part of the work.
        differences: True for gradients by forward differences, one simulation per unknown, instead of the adjoint.
        gaussian: Prior whose residuals join those of the pixels.
        costs: Costs of the controls, added to the loss.
        enough: Loss at which the search ends, so that no gradient is needed.
        rollouts: Cache of the last simulations.
    """

    scene: Scene
    target: AnyTarget
    loss: Loss
    layout: UnknownLayout
    tie: Tie | None = None
    prior: Callable[[Mapping[str, Tensor]], Tensor] | None = None
    stopwatch: Stopwatch = field(default_factory=Stopwatch, compare=False)
    differences: bool = False
    gaussian: Gaussian | None = None
    costs: ControlCosts | None = None
    enough: float | None = None
    rollouts: Rollouts = field(default_factory=Rollouts, compare=False, repr=False)

    def with_renderer_settings(self, changes: Mapping[str, float]) -> Objective:
        """Return a copy with other settings of the renderer.

        Args:
            changes: Settings by name, such as {"sigma": 1e-3}.

        Returns:
            The copy.
        """
        if not changes:
            return self
        renderer = self.scene.renderer
        known = [f.name for f in fields(renderer)]  # type: ignore[arg-type]
        for name in changes:
            if name not in known:
                raise InputError(
                    f"the renderer {type(renderer).__name__} has no setting {name!r}{suggest_name(name, known) or '.'} "
                    f"It has: {', '.join(known)}"
                )
        return replace(self, scene=self.scene.with_renderer(replace(renderer, **changes)))  # type: ignore[type-var]

    def with_horizon(self, part: float) -> Objective:
        """Return a copy that compares only the first part of the target.

        Args:
            part: Part 0..1 of its time span; at least two frames are kept.

        Returns:
            The copy.
        """
        return replace(self, target=self.target.until(part))

    def values(self, z: Tensor) -> dict[str, Tensor]:
        """Return the unknowns by name.

        Args:
            z: The vector.

        Returns:
            Parameters, differentiable with respect to ``z``.
        """
        return self.layout.decode(z if self.tie is None else self.tie.expand(z))

    def views(self, z: Tensor, gradient: bool = True) -> dict[str, View]:
        """Simulate once and render the views of all cameras.

        Args:
            z: The vector.
            gradient: False for views without gradient.

        Returns:
            Views by label.
        """
        return self.views_of(self.values(z), gradient)

    def views_of(self, values: dict[str, Tensor], gradient: bool = True) -> dict[str, View]:
        """Simulate once with given values and render the views of all cameras.

        Args:
            values: Values by name, which replace known ones.
            gradient: False for views without gradient.

        Returns:
            Views by label.
        """
        scene, outputs = self.scene, self.loss.outputs
        whole, parts = self.find_sampling(values)
        with self.stopwatch.timing("simulate"):
            if gradient:
                made = scene.rollout(values, whole.save)
                self.rollouts.keep(scene, values, whole.save, made)
            else:
                made = self.rollouts.without_gradient(scene, values, whole.save)
        trajectory, params = made.trajectory, made.params
        seen = {}
        for label, target in self.target.by_view().items():
            sampling, camera = parts[label], scene.select_view(label)
            q = camera.states(trajectory, sampling, len(target))
            if not outputs:
                seen[label] = View(None, q, None, target.times, made.control)
                continue
            with self.stopwatch.timing("render"):
                if outputs == ("outline",):
                    outline = camera.outline(trajectory, params, values, sampling)
                    seen[label] = View(None, q, None, target.times, made.control, outline)
                    continue
                image, vertices = camera.draw(trajectory, params, values, outputs, sampling)
            seen[label] = View(image, q, vertices, target.times, made.control)
        return seen

    def view(self, z: Tensor, gradient: bool = True) -> View:
        """Render the view of the first camera.

        Args:
            z: The vector.
            gradient: False for a view without gradient.

        Returns:
            The view.
        """
        return next(iter(self.views(z, gradient).values()))

    def find_sampling(self, values: Mapping[str, Tensor]) -> tuple[Sampling, dict[str, Sampling]]:
        """Return the steps that the frames of all views need.

        Args:
            values: Parameters by name.

        Returns:
            The sampling of all frames, and of each view by label.
        """
        if any(name.startswith("camera.") for name in values):  # the time offset may be among them
            return self._make_sampling(values)
        return self.rollouts.once((self.scene, self.target), lambda: self._make_sampling(values))

    def _make_sampling(self, values: Mapping[str, Tensor]) -> tuple[Sampling, dict[str, Sampling]]:
        scene, targets = self.scene, self.target.by_view()
        times = [
            scene.select_view(label).get_exposure_times(target.times + scene.viewpoints[label].time_offset, values)
            for label, target in targets.items()
        ]
        whole = sample_times(torch.cat(times), scene.dt, scene.steps)
        ends = [0, *accumulate(len(part) for part in times)]
        return whole, {label: whole.part(*ends[i : i + 2]) for i, label in enumerate(targets)}

    @property
    def batch_key(self) -> Hashable:
        return id(self.scene), id(self.target), self.loss.outputs

    def batch_size(self, z: Tensor) -> int:
        with torch.no_grad():
            alone = not self._plain or join_scenes(self.scene, [self.values(z)]) is None
        return 1 if alone else MOST_SCENES

    @property
    def _plain(self) -> bool:
        """True if the views are images or states at the frames' times only."""
        plain = all(view.sensor == Sensor() for view in self.scene.viewpoints.values())
        return plain and self.costs is None and self.loss.outputs != ("outline",)

    def evaluate_batch(self, questions: Sequence[Question]) -> list[list[Any] | Exception]:
        request = questions[0][1]
        return list((_try if request.differentiable else _ANSWERS[request.want])(questions))

    def evaluate_differentiable(self, z: Tensor) -> Evaluation:
        """Evaluate the loss, ready to be differentiated.

        Args:
            z: The vector.

        Returns:
            The evaluation, with its graph.
        """
        if self.differences:
            return self._evaluate_by_differences(z)
        point = z.detach().clone().requires_grad_(True)
        try:
            views = self.views(point)
            loss = self.total(views, point)
        except SimulationError as error:
            return Evaluation(math.inf, None, str(error))
        return _keep_evaluation(point, loss, views, _Graph())

    def _evaluate_by_differences(self, z: Tensor) -> Evaluation:
        here = self.value(z)
        step = math.sqrt(torch.finfo(z.dtype).eps)
        gradient = torch.zeros_like(z)
        ways = torch.eye(z.numel() if here.finite else 0, z.numel(), dtype=z.dtype)
        for i, seen in enumerate(self.values_at([z.detach() + step * way for way in ways])):
            if not seen.finite:
                return Evaluation(math.inf, None, seen.trouble)
            gradient[i] = (seen.value - here.value) / step
        return replace(here, gradient=gradient) if here.finite else here

    def value_of(self, views: Mapping[str, View], z: Tensor) -> Evaluation:
        """Evaluate the loss of given views.

        Args:
            views: Views by label.
            z: Vector at which they were rendered.

        Returns:
            The evaluation, without gradient.
        """
        with torch.no_grad():
            return _finite(float(self.total(views, z)))

    def residuals_of(self, views: Mapping[str, View], z: Tensor) -> Tensor:
        """Compute the residuals of given views.

        Args:
            views: Views by label.
            z: Vector at which they were rendered.

        Returns:
            (m,), with those of the prior.
        """
        with torch.no_grad():
            return self.join_residuals(z.detach(), self.fields_of(views)).detach()

    def _residual_gradients(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the residuals (n,) and their gradients (n, unknowns), by a backward pass each, without priors and
        costs.
        """
        point = z.detach().clone().requires_grad_(True)
        found = torch.cat([field.reshape(-1) for field in self.fields_of(self.views(point))])
        if found.numel() > FEW:
            raise InputError(
                f"the loss {type(self.loss).__name__} has {found.numel()} residuals, and each needs a gradient; "
                f"choose a loss with at most {FEW}, such as moments, or leave out the optimiser's key each"
            )
        rows = [torch.autograd.grad(one, point, retain_graph=True)[0] for one in found]
        return found.detach(), torch.stack(rows)

    def join_residuals(self, z: Tensor, fields: Sequence[Tensor]) -> Tensor:
        """Join the residuals of all views and of the prior.

        Args:
            z: The vector.
            fields: Residuals of each view.

        Returns:
            (m,), whose mean square is the loss.
        """
        pixels = torch.cat([field.reshape(-1) for field in fields])
        if self.gaussian is None:
            return pixels
        own = self.prior_residuals(z).detach() * math.sqrt(self.prior_weight * pixels.numel())
        return torch.cat([pixels, own]) * math.sqrt((pixels.numel() + own.numel()) / pixels.numel())

    def prior_residuals(self, z: Tensor) -> Tensor:
        """Return the differences from the Gaussian prior in its standard deviations.

        Args:
            z: The vector.

        Returns:
            (k,), one for each number of the prior.
        """
        assert self.gaussian is not None
        return self.gaussian.residuals(self.layout.sought(z if self.tie is None else self.tie.expand(z)))

    @property
    def rounding(self) -> float:
        """Loss that consists of rounding only: the mean square of the target's numbers times (4 epsilon)^2."""
        largest = max((target.mean_square for target in self.target.by_view().values()), default=0.0)
        return (4.0 * torch.finfo(self.scene.dtype).eps) ** 2 * largest

    @property
    def smooth_residuals(self) -> int:
        if self.gaussian is None:
            return 0
        sizes = {slot.name: slot.size for slot in self.layout.slots}
        return sum(sizes[name] for name in self.gaussian.means)

    @property
    def prior_weight(self) -> float:
        """Weight of a squared deviation of the Gaussian prior in the loss: noise^2 / numbers in the target."""
        assert self.gaussian is not None
        compared = sum(self.loss.numbers(target) for target in self.target.by_view().values())
        return self.gaussian.noise**2 / max(1, compared)

    def residual_fields(self, z: Tensor) -> list[Tensor]:
        """Compute the residuals of each view.

        Views of different size are scaled, so that the mean square of all is the mean over views.

        Args:
            z: The vector.

        Returns:
            Residuals as the loss gives them, (frames, height, width, channels) for images.
        """
        with torch.no_grad():
            return self.fields_of(self.views(z, gradient=False))

    def fields_of(self, views: Mapping[str, View]) -> list[Tensor]:
        """Compute the residuals of given views, one field for each.

        Args:
            views: Views by label.

        Returns:
            Residuals of each view.

        Raises:
            InputError: The loss is not a mean of squares.
        """
        found = [self.loss.residuals(views[label], target) for label, target in self.target.by_view().items()]
        fields = [field for field in found if field is not None]
        if len(fields) < len(found):
            raise InputError(
                f"the loss {type(self.loss).__name__} is not a mean of squares, which this optimiser needs; choose "
                "adam, sgd or lbfgs, or the loss mse, silhouette or multiscale"
            )
        even = sum(field.numel() for field in fields) / len(fields)
        return [f if f.numel() == even else f * math.sqrt(even / f.numel()) for f in fields]

    def losses(self, z: Tensor) -> dict[str, float]:
        """Return the loss of each view.

        Args:
            z: The vector.

        Returns:
            Losses by label.
        """
        with torch.no_grad():
            views = self.views(z, gradient=False)
            targets = self.target.by_view()
            return {label: float(self.loss.value(views[label], target)) for label, target in targets.items()}

    def total(self, views: Mapping[str, View], z: Tensor) -> Tensor:
        """Return the loss of given views, with priors and costs.

        Args:
            views: Views by label.
            z: Vector at which they were rendered.

        Returns:
            A scalar.
        """
        with self.stopwatch.timing("loss"):
            each = [self.loss.value(views[label], target) for label, target in self.target.by_view().items()]
            loss = each[0] if len(each) == 1 else torch.stack(each).mean()
            if self.gaussian is not None:
                loss = loss + self.prior_weight * self.prior_residuals(z).square().sum()
            if self.costs is not None:
                loss = loss + self.costs.value(next(iter(views.values())).control, self.scene.dt)
            return loss if self.prior is None else loss + self.prior(self.values(z))

    def backward(self, losses: Sequence[Tensor], views: Sequence[View]) -> None:
        """Run the backward pass, and time rendering and physics separately.

        Args:
            losses: Losses to differentiate.
            views: Views whose vertices separate rendering from physics.
        """
        marks: list[float] = []
        lap = Lap()
        for view in views:
            if view.vertices is not None and view.vertices.requires_grad:
                view.vertices.register_hook(lambda _: marks.append(lap.seconds))
        known = [loss for loss in losses if loss.requires_grad]
        if known:
            torch.autograd.backward(known)
        end = lap.seconds
        middle = marks[-1] if marks else 0.0
        self.stopwatch.add("render backward", middle)
        self.stopwatch.add("simulate backward", end - middle)


def _finite(value: float) -> Evaluation:
    return Evaluation(value) if math.isfinite(value) else Evaluation(math.inf, None, "the loss is not finite")


def _keep_evaluation(point: Tensor, loss: Tensor, views: Mapping[str, View], graph: _Graph) -> Evaluation:
    seen = _finite(float(loss.detach()))
    return replace(seen, kept=_KeptEvaluation(point, loss, views, graph)) if seen.finite else seen


# Requests of many searches, answered together. The objectives of each call share scene, target and outputs.


def _try(questions: Sequence[Question]) -> list[list[Evaluation]]:
    """Evaluate losses that can be differentiated."""
    places = _places(questions)
    scene = places[0][0].scene
    most = min(MOST_SCENES, max(1, MOST_KEPT // ((scene.steps + 1) * scene.state_size)))
    return _by_question(
        questions, [one for k in range(0, len(places), most) for one in _evaluate_differentiable(places[k : k + most])]
    )


def _evaluate_differentiable(places: Sequence[Place]) -> list[Evaluation]:
    """Evaluate losses that can be differentiated, with one graph if the points can share a batch."""
    points = [z.detach().clone().requires_grad_(True) for _, z in places]
    seen = _views_of_batch([(one, point) for (one, _), point in zip(places, points, strict=True)])
    if seen is None:
        return [one.evaluate_differentiable(z) for one, z in places]
    graph = _Graph()
    return [
        _keep_evaluation(point, one.total(views, point), views, graph)
        for (one, _), point, views in zip(places, points, seen, strict=True)
    ]


def _differentiate(questions: Sequence[Question]) -> list[list[Evaluation]]:
    """Compute gradients of evaluated losses; those of one graph by one backward pass."""
    tried = [(one, seen) for one, request in questions for seen in request.points]
    found: dict[int, Evaluation] = {}
    for group in group_by(range(len(tried)), lambda k: id(tried[k][1].kept.graph)):  # type: ignore[union-attr]
        found |= dict(zip(group, _gradients([tried[k] for k in group]), strict=True))  # type: ignore[misc]
    return _by_question(questions, [found[k] for k in range(len(tried))])


def _gradients(tried: Sequence[tuple[Objective, Evaluation]]) -> list[Evaluation]:
    kept: list[_KeptEvaluation] = [seen.kept for _, seen in tried]
    alone = len(tried) == 1
    if not kept[0].graph.spent:  # a spent graph has been freed by an earlier backward pass
        kept[0].graph.spent = True
        try:
            tried[0][0].backward([one.loss for one in kept], [view for one in kept for view in one.views.values()])
            return [_with_gradient(seen) for _, seen in tried]
        except SimulationError as error:
            if alone:
                return [Evaluation(math.inf, None, str(error))]
    return [objective.evaluate(seen.kept.point) for objective, seen in tried]


def _with_gradient(seen: Evaluation) -> Evaluation:
    """Return the evaluation with the gradient that a backward pass has left at its point."""
    point = seen.kept.point
    gradient = torch.zeros_like(point) if point.grad is None else point.grad.detach()
    if not bool(torch.isfinite(gradient).all()):
        return Evaluation(math.inf, None, "the gradient is not finite")
    return replace(seen, gradient=gradient)


def _evaluate(questions: Sequence[Question]) -> list[list[Evaluation]]:
    """Evaluate losses without gradient."""
    if len(questions) > 1:
        try:
            seen = [one.value_of(views, z) for one, z, views in _views_at(_places(questions))]
            return _by_question(questions, seen)
        except SimulationError:
            return [_evaluate([question])[0] for question in questions]
    places, found = _places(questions), list[Evaluation]()
    try:
        for one, z, views in _views_at(places):
            found.append(one.value_of(views, z))
    except SimulationError as error:
        found.append(Evaluation(math.inf, None, str(error)))
        for one, z in places[len(found) :]:
            found += _evaluate([(one, Evaluate([z]))])[0]
    return [found]


def _residuals(questions: Sequence[Question]) -> list[list[Tensor] | Exception]:
    known = [point.kept for _, request in questions for point in request.points if isinstance(point, Evaluation)]
    if known:
        ((one, _),) = questions
        return [[one.residuals_of(kept.views, kept.point) for kept in known]]  # type: ignore[attr-defined]
    try:
        return list(
            _by_question(questions, [one.residuals_of(views, z) for one, z, views in _views_at(_places(questions))])
        )
    except SimulationError as error:
        if len(questions) == 1:
            return [error]
    return [_residuals([question])[0] for question in questions]  # one by one, to find the one that failed


def _jacobians(questions: Sequence[Question]) -> list[list[Any] | Exception]:
    found: list[list[Any] | Exception] = []
    for one, request in questions:
        try:
            found.append([one._residual_gradients(z) for z in request.points])  # type: ignore[attr-defined]
        except SimulationError as error:
            found.append(error)
    return found


_ANSWERS: dict[str, Callable[[Sequence[Question]], Sequence[Any]]] = {
    "value": _evaluate, "gradient": _differentiate, "residuals": _residuals, "jacobian": _jacobians,
}  # fmt: skip


def _places(questions: Sequence[Question]) -> list[Place]:
    return [(one, z) for one, request in questions for z in request.points]  # type: ignore[misc]


def _by_question(questions: Sequence[Question], found: Sequence[Any]) -> list[list[Any]]:
    """Group the answers at all points by request."""
    left = iter(found)
    return [[next(left) for _ in request.points] for _, request in questions]


def _views_at(places: Sequence[Place]) -> Iterator[tuple[Objective, Tensor, dict[str, View]]]:
    """Yield the views of each objective at its point, without gradient; raises SimulationError."""
    for first in range(0, len(places), MOST_SCENES):
        part = places[first : first + MOST_SCENES]
        with torch.no_grad():
            seen = _views_of_batch(part, NoGradient())
        for objective, z in part:
            with torch.no_grad():  # not around the yield, because the caller may compute gradients in between
                views = seen.pop(0) if seen is not None else objective.views(z, gradient=False)
            yield objective, z, views


def _views_of_batch(places: Sequence[Place], gradient: Gradient | None = None) -> list[dict[str, View]] | None:
    """Render views at points that are simulated as one batch.

    Returns:
        Views of each point; None if they cannot share a batch, or if one failed, so that the caller evaluates them one
        by one.
    """
    objective = places[0][0]
    if len(places) < 2 or not objective._plain:
        return None
    values = [one.values(z) for one, z in places]
    params = join_scenes(objective.scene, values)
    if params is None:
        return None
    whole, parts = objective.find_sampling(values[0])
    frames = {label: (parts[label], target.times) for label, target in objective.target.by_view().items()}
    return render_batch_views(
        objective.scene, params, values[0], whole.save, frames, objective.loss.outputs,
        gradient or objective.scene.gradient, objective.stopwatch,
    )  # fmt: skip
