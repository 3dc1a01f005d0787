"""What is minimised: from the optimiser's vector to a loss, its gradient and its residuals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor

from diffloom.interfaces import InputError, NoGradient, SimulationError
from diffloom.interfaces.errors import nearest
from diffloom_fitting.losses import Loss
from diffloom_fitting.scene import Scene, View, sample_times
from diffloom_fitting.stopwatch import Stopwatch
from diffloom_fitting.targets import Target
from diffloom_fitting.unknowns import Layout, Tie


@dataclass(frozen=True)
class Evaluation:
    """A loss and its gradient at one vector. trouble: why they are not finite, or None when they are."""

    value: float
    gradient: Tensor | None = None
    trouble: str | None = None

    @property
    def finite(self) -> bool:
        """Whether it can be used."""
        return self.trouble is None


@dataclass(frozen=True)
class Objective:
    """A scene seen against a target, as a function of the unknowns' vector z.

    tie: makes the full vector of a shorter one, when only part of the unknowns move. prior: a further term, values by
    name -> scalar, added to the loss. differences: gradients from forward differences, one simulation per unknown,
    instead of the adjoint: what that is worth, for comparison.
    """

    scene: Scene
    target: Target
    loss: Loss
    layout: Layout
    tie: Tie | None = None
    prior: Callable[[Mapping[str, Tensor]], Tensor] | None = None
    stopwatch: Stopwatch = field(default_factory=Stopwatch, compare=False)
    differences: bool = False

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
        times = self.target.times
        count = int((times <= float(times[-1]) * part * (1.0 + 1e-12)).sum())
        return replace(self, target=self.target.first(max(count, min(2, len(self.target)))))

    def values(self, z: Tensor) -> dict[str, Tensor]:
        """The unknowns' values by name, differentiable with respect to ``z``."""
        return self.layout.decode(z if self.tie is None else self.tie.expand(z))

    def view(self, z: Tensor, gradient: bool = True) -> View:
        """What is seen with the unknowns at ``z``."""
        scene, outputs = self.scene, self.loss.outputs
        values = self.values(z)
        sampling = sample_times(self.target.times, scene.dt, scene.steps)
        policy = None if gradient else NoGradient()
        with self.stopwatch.timing("simulate"):
            trajectory, params = scene.simulate(values, sampling.save, policy)
        q = sampling.between(trajectory.q).cpu()
        if not outputs:
            return View(None, q, None, self.target.times)
        with self.stopwatch.timing("render"):
            image, vertices = scene.draw(trajectory, params, values, outputs, sampling)
        return View(image, q, vertices, self.target.times)

    def evaluate(self, z: Tensor) -> Evaluation:
        """Loss and gradient."""
        if self.differences:
            return self._evaluate_by_differences(z)
        point = z.detach().clone().requires_grad_(True)
        try:
            view = self.view(point)
            loss = self._total(view, point)
            if not math.isfinite(float(loss.detach())):
                return Evaluation(math.inf, None, "the loss is not finite")
            self._backward(loss, view)
        except SimulationError as error:
            return Evaluation(math.inf, None, str(error))
        gradient = torch.zeros_like(point) if point.grad is None else point.grad.detach()
        if not bool(torch.isfinite(gradient).all()):
            return Evaluation(math.inf, None, "the gradient is not finite")
        return Evaluation(float(loss.detach()), gradient)

    def value(self, z: Tensor) -> Evaluation:
        """The loss alone, cheaper."""
        with torch.no_grad():
            try:
                loss = float(self._total(self.view(z, gradient=False), z))
            except SimulationError as error:
                return Evaluation(math.inf, None, str(error))
        return Evaluation(loss) if math.isfinite(loss) else Evaluation(math.inf, None, "the loss is not finite")

    def _evaluate_by_differences(self, z: Tensor) -> Evaluation:
        here = self.value(z)
        step = math.sqrt(torch.finfo(z.dtype).eps)
        gradient = torch.zeros_like(z)
        for i in range(z.numel() if here.finite else 0):
            ahead = z.detach().clone()
            ahead[i] += step
            seen = self.value(ahead)
            if not seen.finite:
                return Evaluation(math.inf, None, seen.trouble)
            gradient[i] = (seen.value - here.value) / step
        return replace(here, gradient=gradient) if here.finite else here

    def residuals(self, z: Tensor) -> Tensor:
        """(n,): the differences whose mean square is the loss; SimulationError when it cannot be simulated."""
        return self.residual_field(z).reshape(-1)

    def residual_field(self, z: Tensor) -> Tensor:
        """The same as the loss gives them: (frames, height, width, channels) where they are pictures."""
        with torch.no_grad():
            found = self.loss.residuals(self.view(z, gradient=False), self.target)
        if found is None:
            raise InputError(
                f"the loss {type(self.loss).__name__} is not a mean of squares, which this optimiser needs; choose "
                "adam, sgd or lbfgs, or the loss mse, silhouette or multiscale"
            )
        return found

    def _total(self, view: View, z: Tensor) -> Tensor:
        with self.stopwatch.timing("loss"):
            loss = self.loss.value(view, self.target)
            return loss if self.prior is None else loss + self.prior(self.values(z))

    def _backward(self, loss: Tensor, view: View) -> None:
        """Backward, split at the vertices: what comes before them is rendering, after them physics."""
        marks: list[float] = []
        if view.vertices is not None and view.vertices.requires_grad:
            view.vertices.register_hook(lambda _: marks.append(time.perf_counter()))
        begin = time.perf_counter()
        if loss.requires_grad:
            loss.backward()
        end = time.perf_counter()
        middle = marks[0] if marks else begin
        self.stopwatch.add("render backward", middle - begin)
        self.stopwatch.add("simulate backward", end - middle)
