"""The problem of a fit: a scene seen against a target, from the searched vector to loss, gradient and residuals."""

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

FEW = 64  # residuals of which each may have a gradient of its own
#: Numbers of all kept states that simulations with gradient may hold at once.
MOST_KEPT = 2**25

#: An objective and where it is evaluated.
Place = tuple["Objective", Tensor]


class _Graph:
    """Shared graph of losses that were simulated together: one backward pass serves all of them."""

    def __init__(self) -> None:
        self.spent = False


@dataclass(frozen=True, eq=False)
class _Kept:
    """A loss that still leads back to its point, by way of what was seen, and the graph it shares with others."""

    point: Tensor
    loss: Tensor
    views: Mapping[str, View]
    graph: _Graph


@dataclass(frozen=True)
class Objective(Problem):
    """A scene seen against a target, as a function of the unknowns' vector z.

    Of several cameras each has a target of its own; the loss is the mean of the views' losses.
    tie: makes the full vector of a shorter one, when only part of the unknowns move. prior: a further term, values by
    name -> scalar, added to the loss. differences: gradients from forward differences, one simulation per unknown,
    instead of the adjoint: what that is worth, for comparison. gaussian: a prior whose residuals join those of the
    pixels. costs: of the controls, added to the loss. enough: a loss at which no step follows, and so nobody needs a
    gradient. rollouts: the last simulations.
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
        """The same with some of the renderer's settings changed, such as {"sigma": 1e-3}."""
        if not changes:
            return self
        renderer = self.scene.renderer
        known = [f.name for f in fields(renderer)]  # type: ignore[arg-type]
        for name in changes:
            if name not in known:
                raise InputError(
                    f"the renderer {type(renderer).__name__} has no setting {name!r}{suggest_name(name, known)} "
                    f"It has: {', '.join(known)}"
                )
        return replace(self, scene=self.scene.with_renderer(replace(renderer, **changes)))  # type: ignore[type-var]

    def with_horizon(self, part: float) -> Objective:
        """Only the first ``part`` (0..1] of the target's time span, at least two frames."""
        return replace(self, target=self.target.until(part))

    def values(self, z: Tensor) -> dict[str, Tensor]:
        """The unknowns' values by name, differentiable with respect to ``z``."""
        return self.layout.decode(z if self.tie is None else self.tie.expand(z))

    def views(self, z: Tensor, gradient: bool = True) -> dict[str, View]:
        """What each camera sees with the unknowns at ``z``, by label; one simulation serves all."""
        scene, outputs, values = self.scene, self.loss.outputs, self.values(z)
        whole, parts = self.sampling(values)
        with self.stopwatch.timing("simulate"):
            if gradient:
                made = scene.rollout(values, whole.save)
                self.rollouts.keep(scene, values, whole.save, made)
            else:
                made = self.rollouts.without_gradient(scene, values, whole.save)
        trajectory, params = made.trajectory, made.params
        seen = {}
        for label, target in self.target.by_view().items():
            sampling, camera = parts[label], scene.seen_from(label)
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
        """What is seen with the unknowns at ``z``, by the first camera where there are several."""
        return next(iter(self.views(z, gradient).values()))

    def sampling(self, values: Mapping[str, Tensor]) -> tuple[Sampling, dict[str, Sampling]]:
        """The steps that the frames of all views need, and the frames of each view between them."""
        if any(name.startswith("camera.") for name in values):  # among them may be when it looks
            return self._sampling(values)
        return self.rollouts.once((self.scene, self.target), lambda: self._sampling(values))

    def _sampling(self, values: Mapping[str, Tensor]) -> tuple[Sampling, dict[str, Sampling]]:
        scene, targets = self.scene, self.target.by_view()
        times = [
            scene.seen_from(label).exposed(target.times + scene.viewpoints[label].time_offset, values)
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
        """Whether all that is seen are images or states at the frames' times."""
        plain = all(view.sensor == Sensor() for view in self.scene.viewpoints.values())
        return plain and self.costs is None and self.loss.outputs != ("outline",)

    def evaluate_batch(self, questions: Sequence[Question]) -> list[list[Any] | Exception]:
        request = questions[0][1]
        return list((_try if request.differentiable else _ANSWERS[request.want])(questions))

    def tried(self, z: Tensor) -> Evaluation:
        """The loss at ``z``, ready to be differentiated."""
        if self.differences:
            return self._evaluate_by_differences(z)
        point = z.detach().clone().requires_grad_(True)
        try:
            views = self.views(point)
            loss = self.total(views, point)
        except SimulationError as error:
            return Evaluation(math.inf, None, str(error))
        return _kept_evaluation(point, loss, views, _Graph())

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
        """The loss alone of what was seen at ``z``."""
        with torch.no_grad():
            return _finite(float(self.total(views, z)))

    def residuals_of(self, views: Mapping[str, View], z: Tensor) -> Tensor:
        """``residuals`` of what was seen at ``z``."""
        with torch.no_grad():
            return self.joined(z.detach(), self.fields_of(views)).detach()

    def _residual_gradients(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """(residuals (n,), their gradients (n, unknowns)), a backward pass each. Priors and costs have none here."""
        point = z.detach().clone().requires_grad_(True)
        found = torch.cat([field.reshape(-1) for field in self.fields_of(self.views(point))])
        if found.numel() > FEW:
            raise InputError(
                f"the loss {type(self.loss).__name__} has {found.numel()} residuals, and each would take a gradient; "
                f"choose one with at most {FEW}, such as moments, or leave 'each' out"
            )
        rows = [torch.autograd.grad(one, point, retain_graph=True)[0] for one in found]
        return found.detach(), torch.stack(rows)

    def joined(self, z: Tensor, fields: Sequence[Tensor]) -> Tensor:
        """The residuals of all views, and of a prior, one behind the other."""
        pixels = torch.cat([field.reshape(-1) for field in fields])
        if self.gaussian is None:
            return pixels
        own = self.prior_residuals(z).detach() * math.sqrt(self.prior_weight * pixels.numel())
        return torch.cat([pixels, own]) * math.sqrt((pixels.numel() + own.numel()) / pixels.numel())

    def prior_residuals(self, z: Tensor) -> Tensor:
        """(k,): by how many deviations values differ from what the Gaussian prior expects."""
        assert self.gaussian is not None
        return self.gaussian.residuals(self.layout.sought(z if self.tie is None else self.tie.expand(z)))

    @property
    def rounding(self) -> float:
        """A loss that is nothing but rounding error: the mean square of the target's numbers times (4 epsilon)^2."""
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
        """What a squared deviation of the Gaussian prior adds to the loss: noise^2 / numbers in the target, as if the
        loss were the mean of squared residuals in units of that noise."""
        assert self.gaussian is not None
        compared = sum(self.loss.numbers(target) for target in self.target.by_view().values())
        return self.gaussian.noise**2 / max(1, compared)

    def residual_fields(self, z: Tensor) -> list[Tensor]:
        """The same for each view, as the loss gives them: (frames, height, width, channels) where they are images.

        Views of different size are scaled, so that the mean square of all is the mean over views.
        """
        with torch.no_grad():
            return self.fields_of(self.views(z, gradient=False))

    def fields_of(self, views: Mapping[str, View]) -> list[Tensor]:
        """Those of what was seen."""
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
        """The loss of each view, by label."""
        with torch.no_grad():
            views = self.views(z, gradient=False)
            targets = self.target.by_view()
            return {label: float(self.loss.value(views[label], target)) for label, target in targets.items()}

    def total(self, views: Mapping[str, View], z: Tensor) -> Tensor:
        """The loss of what was seen at ``z``."""
        with self.stopwatch.timing("loss"):
            each = [self.loss.value(views[label], target) for label, target in self.target.by_view().items()]
            loss = each[0] if len(each) == 1 else torch.stack(each).mean()
            if self.gaussian is not None:
                loss = loss + self.prior_weight * self.prior_residuals(z).square().sum()
            if self.costs is not None:
                loss = loss + self.costs.value(next(iter(views.values())).control, self.scene.dt)
            return loss if self.prior is None else loss + self.prior(self.values(z))

    def backward(self, losses: Sequence[Tensor], views: Sequence[View]) -> None:
        """Backward from all ``losses``, split at the vertices of ``views``: what comes before them is rendering, after
        them physics."""
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


def _kept_evaluation(point: Tensor, loss: Tensor, views: Mapping[str, View], graph: _Graph) -> Evaluation:
    seen = _finite(float(loss.detach()))
    return replace(seen, kept=_Kept(point, loss, views, graph)) if seen.finite else seen


# Requests of many searches, answered together. The objectives of each call share scene, target and outputs.


def _try(questions: Sequence[Question]) -> list[list[Evaluation]]:
    """Losses that can be differentiated."""
    places = _places(questions)
    scene = places[0][0].scene
    most = min(MOST_SCENES, max(1, MOST_KEPT // ((scene.steps + 1) * scene.state_size)))
    return _by_question(questions, [one for k in range(0, len(places), most) for one in _tried(places[k : k + most])])


def _tried(places: Sequence[Place]) -> list[Evaluation]:
    """The same, of places that share a graph where they can be simulated as a batch."""
    points = [z.detach().clone().requires_grad_(True) for _, z in places]
    seen = _views_of_batch([(one, point) for (one, _), point in zip(places, points, strict=True)])
    if seen is None:
        return [one.tried(z) for one, z in places]
    graph = _Graph()
    return [
        _kept_evaluation(point, one.total(views, point), views, graph)
        for (one, _), point, views in zip(places, points, seen, strict=True)
    ]


def _differentiate(questions: Sequence[Question]) -> list[list[Evaluation]]:
    """Gradients of losses that were found before; those of one graph by one backward pass."""
    tried = [(one, seen) for one, request in questions for seen in request.points]
    found: dict[int, Evaluation] = {}
    for group in group_by(range(len(tried)), lambda k: id(tried[k][1].kept.graph)):  # type: ignore[union-attr]
        found |= dict(zip(group, _gradients([tried[k] for k in group]), strict=True))  # type: ignore[misc]
    return _by_question(questions, [found[k] for k in range(len(tried))])


def _gradients(tried: Sequence[tuple[Objective, Evaluation]]) -> list[Evaluation]:
    kept: list[_Kept] = [seen.kept for _, seen in tried]
    alone = len(tried) == 1
    if not kept[0].graph.spent:  # else others were asked for before, and what they shared is gone
        kept[0].graph.spent = True
        try:
            tried[0][0].backward([one.loss for one in kept], [view for one in kept for view in one.views.values()])
            return [_with_gradient(seen) for _, seen in tried]
        except SimulationError as error:
            if alone:
                return [Evaluation(math.inf, None, str(error))]
    return [objective.evaluate(seen.kept.point) for objective, seen in tried]


def _with_gradient(seen: Evaluation) -> Evaluation:
    """With what a backward pass has left at the point."""
    point = seen.kept.point
    gradient = torch.zeros_like(point) if point.grad is None else point.grad.detach()
    if not bool(torch.isfinite(gradient).all()):
        return Evaluation(math.inf, None, "the gradient is not finite")
    return replace(seen, gradient=gradient)


def _evaluate(questions: Sequence[Question]) -> list[list[Evaluation]]:
    """Losses alone."""
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
    return [_residuals([question])[0] for question in questions]  # one by one it is known which


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
            with torch.no_grad():  # not around the yield: who asks may want gradients in between
                views = seen.pop(0) if seen is not None else objective.views(z, gradient=False)
            yield objective, z, views


def _views_of_batch(places: Sequence[Place], gradient: Gradient | None = None) -> list[dict[str, View]] | None:
    """What is seen at places that are simulated as one batch, differentiable unless ``gradient`` says otherwise; None
    where that cannot be, or where one of the places failed: one by one it is known which."""
    objective = places[0][0]
    if len(places) < 2 or not objective._plain:
        return None
    values = [one.values(z) for one, z in places]
    params = join_scenes(objective.scene, values)
    if params is None:
        return None
    whole, parts = objective.sampling(values[0])
    frames = {label: (parts[label], target.times) for label, target in objective.target.by_view().items()}
    return render_batch_views(
        objective.scene, params, values[0], whole.save, frames, objective.loss.outputs,
        gradient or objective.scene.gradient, objective.stopwatch,
    )  # fmt: skip
