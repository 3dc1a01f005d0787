"""What is minimised: from the optimiser's vector to a loss, its gradient and its residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom.validation import nearest
from diffloom_fitting.costs import ControlCosts
from diffloom_fitting.lockstep import Ask
from diffloom_fitting.losses import Loss
from diffloom_fitting.many_views import MOST_PLACES, many_views
from diffloom_fitting.priors import Gaussian
from diffloom_fitting.scene import Rollouts, Sampling, Scene, View, sample_times
from diffloom_fitting.stopwatch import Lap, Stopwatch
from diffloom_fitting.targets.several import AnyTarget
from diffloom_fitting.trial import Evaluation, Request, Trial
from diffloom_fitting.unknowns import Layout, Tie

__all__ = ["Evaluation", "Objective", "Trial"]

FEW = 64  # residuals of which each may have a gradient of its own


@dataclass(frozen=True)
class Objective:
    """A scene seen against a target, as a function of the unknowns' vector z.

    Of several cameras each has a target of its own; the loss is the mean of the views' losses.
    tie: makes the full vector of a shorter one, when only part of the unknowns move. prior: a further term, values by
    name -> scalar, added to the loss. differences: gradients from forward differences, one simulation per unknown,
    instead of the adjoint: what that is worth, for comparison. gaussian: a prior whose residuals join those of the
    pixels. costs: of the controls, added to the loss. ask: who answers instead, together with what others ask.
    enough: a loss at which no step follows, and so nobody needs a gradient. rollouts: the last simulations.
    """

    scene: Scene
    target: AnyTarget
    loss: Loss
    layout: Layout
    tie: Tie | None = None
    prior: Callable[[Mapping[str, Tensor]], Tensor] | None = None
    stopwatch: Stopwatch = field(default_factory=Stopwatch, compare=False)
    differences: bool = False
    gaussian: Gaussian | None = None
    costs: ControlCosts | None = None
    ask: Ask | None = field(default=None, compare=False, repr=False)
    enough: float | None = None
    rollouts: Rollouts = field(default_factory=Rollouts, compare=False, repr=False)

    def asking(self, ask: Ask | None) -> Objective:
        """The same, answered by ``ask``; None: by itself."""
        return self if ask is self.ask else replace(self, ask=ask)

    def low_enough(self, loss: float) -> bool:
        """Whether nobody needs a gradient."""
        return self.enough is not None and loss <= self.enough

    def with_renderer_settings(self, changes: Mapping[str, float]) -> Objective:
        """The same with some of the renderer's settings changed, such as {"sigma": 1e-3}."""
        if not changes:
            return self
        renderer = self.scene.renderer
        known = [f.name for f in fields(renderer)]  # type: ignore[arg-type]
        for name in changes:
            if name not in known:
                raise InputError(
                    f"the renderer {type(renderer).__name__} has no setting {name!r}{nearest(name, known)} It has: "
                    f"{', '.join(known)}"
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

    def evaluate(self, z: Tensor) -> Evaluation:
        """Loss and gradient."""
        if self.differences:
            return self._evaluate_by_differences(z)
        return self.trial(z).evaluation()

    def trial(self, z: Tensor) -> Trial:
        """The loss with its gradient and residuals on demand: whoever rejects a place by its loss pays for no more."""
        if self.differences:
            return Trial(self, z.detach(), seen=self._evaluate_by_differences(z))
        if self.ask is not None:
            answered: Trial = self.ask([Request(self, "trial", (z,))])[0]
            return answered
        point = z.detach().clone().requires_grad_(True)
        try:
            views = self.views(point)
            loss = self.total(views, point)
        except SimulationError as error:
            return Trial(self, point, seen=Evaluation(math.inf, None, str(error)))
        if not math.isfinite(float(loss.detach())):
            return Trial(self, point, seen=Evaluation(math.inf, None, "the loss is not finite"))
        return Trial(self, point, loss, views)

    def value(self, z: Tensor) -> Evaluation:
        """The loss alone, cheaper."""
        if self.ask is not None:
            return self.values_at((z,))[0]
        with torch.no_grad():
            try:
                loss = float(self.total(self.views(z, gradient=False), z))
            except SimulationError as error:
                return Evaluation(math.inf, None, str(error))
        return Evaluation(loss) if math.isfinite(loss) else Evaluation(math.inf, None, "the loss is not finite")

    def values_at(self, places: Sequence[Tensor]) -> list[Evaluation]:
        """The loss alone at many places, simulated and drawn together where that can be."""
        if self.ask is not None:
            answered: list[Evaluation] = self.ask([Request(self, "values", places)])[0]
            return answered
        found: list[Evaluation] = []
        try:
            for z, views in zip(places, many_views([(self, z) for z in places]), strict=True):
                found.append(self.value_of(views, z))
        except SimulationError:
            found += [self.value(z) for z in places[len(found) :]]
        return found

    def value_of(self, views: Mapping[str, View], z: Tensor) -> Evaluation:
        """The loss alone of what was seen at ``z``."""
        with torch.no_grad():
            loss = float(self.total(views, z))
        return Evaluation(loss) if math.isfinite(loss) else Evaluation(math.inf, None, "the loss is not finite")

    def residuals_at(self, places: Sequence[Tensor]) -> Iterator[Tensor]:
        """``residuals`` at many places, simulated and drawn together where that can be."""
        if self.ask is not None:
            for first in range(0, len(places), MOST_PLACES):
                (answered,) = self.ask([Request(self, "residuals", places[first : first + MOST_PLACES])])
                yield from answered
            return
        seen = many_views([(self, z) for z in places])
        for z in places:
            yield self.residuals_of(next(seen), z)

    def residuals_of(self, views: Mapping[str, View], z: Tensor) -> Tensor:
        """``residuals`` of what was seen at ``z``."""
        with torch.no_grad():
            return self.joined(z, self.fields_of(views))

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

    def residuals(self, z: Tensor) -> Tensor:
        """(n,): the differences whose mean square is the loss; SimulationError when it cannot be simulated. Those of a
        Gaussian prior come last."""
        return self.joined(z, self.residual_fields(z))

    def residual_slopes(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """(residuals (n,), their gradients (n, unknowns)) by the adjoint, a backward pass for each: for losses
        with few residuals and any number of unknowns. Priors and costs have none here."""
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
    def prior_numbers(self) -> int:
        """How many residuals the Gaussian prior has, after those of the pixels."""
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
