"""A stage of a fit: one optimiser, what it moves, what it sees, what changes on the way, and when it stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from diffloom.interfaces import InputError
from diffloom.validation import check_settings
from diffloom_fitting import get_loss, get_optimiser
from diffloom_fitting.losses import Loss
from diffloom_fitting.optimisers import Optimiser
from diffloom_fitting.validation import instance, real, whole

LOSS = "loss."
PARAMS = "params."


@dataclass(frozen=True)
class Schedule:
    """From ``first`` to ``last`` over the first ``over`` (0..1] part of a stage, then constant.

    shape: "linear", "exponential" (equal factors; both ends positive), or "steps" with ``count`` equal stairs, which
    changes the objective rarely and so suits Gauss-Newton and L-BFGS.
    """

    first: float
    last: float
    shape: Literal["linear", "exponential", "steps"] = "linear"
    over: float = 1.0
    count: int = 4

    def __post_init__(self) -> None:
        if self.shape not in ("linear", "exponential", "steps"):
            raise InputError(f"schedule: got shape {self.shape!r}; expected one of linear, exponential, steps")
        check_settings(self)
        if self.shape == "exponential" and not (self.first > 0.0 and self.last > 0.0):
            raise InputError(f"schedule: got {self.first:g} to {self.last:g}; an exponential one needs positive ends")
        if not 0.0 < self.over <= 1.0:
            raise InputError(f"schedule: got over={self.over:g}; expected a part of the stage, above 0 and at most 1")
        if self.count < 2:
            raise InputError(f"schedule: got count={self.count}; expected 2 or more stairs")

    def at(self, iteration: int, iterations: int) -> float:
        """The value for iteration 0, 1, ... of a stage with ``iterations`` of them."""
        length = max(1.0, self.over * (iterations - 1))
        part = min(1.0, iteration / length)
        if self.shape == "exponential":
            return float(self.first * (self.last / self.first) ** part)
        if self.shape == "steps":
            part = min(int(part * self.count), self.count - 1) / (self.count - 1)
        return self.first + (self.last - self.first) * part


def constant(value: float) -> Schedule:
    """A schedule that does not change."""
    return Schedule(value, value)


@dataclass(frozen=True)
class Stop:
    """When a stage is done before its iterations are used up; None switches a rule off.

    loss: the loss is at most this. change: over ``patience`` iterations the loss fell by less than this part of
    itself; patience is the optimiser's own unless given, long for those whose loss may rise on the way down. gradient:
    the gradient's norm, in the searched space, is at most this. seconds: it has run this long.
    """

    loss: float | None = None
    change: float | None = None
    gradient: float | None = None
    patience: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.patience is not None:
            whole("stop.patience", self.patience, 1)
        for name in ("loss", "change", "gradient", "seconds"):
            if getattr(self, name) is not None:
                real(f"stop.{name}", getattr(self, name), least=0.0)

    def low_enough(self, loss: float) -> bool:
        """Whether a loss needs no further step."""
        return self.loss is not None and loss <= self.loss

    def reason(self, losses: Sequence[float], gradient: float | None, seconds: float) -> str | None:
        """Why to stop, given the stage's losses so far, or None to go on."""
        if self.low_enough(losses[-1]):
            return f"the loss is below {self.loss:g}"
        if self.gradient is not None and gradient is not None and gradient <= self.gradient:
            return f"the gradient is below {self.gradient:g}"
        patience = 5 if self.patience is None else self.patience
        if self.change is not None and len(losses) > patience:
            before, now = min(losses[:-patience]), min(losses)
            if before - now <= self.change * abs(before):
                return f"the loss fell by less than {self.change:g} of itself in {patience} iterations"
        if self.seconds is not None and seconds >= self.seconds:
            return f"it ran for {self.seconds:g} s"
        return None


@dataclass(frozen=True)
class Stage:
    """One part of a fit.

    rate: factor on the optimiser's own rate. horizon: part (0..1] of the target's time that is seen. renderer:
    settings of the renderer that change, such as {"sigma": Schedule(1e-3, 1e-5, "exponential")}. loss: instead of the
    experiment's; loss_settings: those of its settings that change. only: unknowns that move; None for all. shared:
    unknowns whose rows take one value. together: unknowns whose rows move by the same amount, keeping their
    differences. params: known parameters of the model that are others while it lasts, such as {"friction_smoothing":
    Schedule(0.5, 0.1)}: an easier problem first. {"camera.lens_blur": Schedule(20.0, 0.5, "exponential")} blurs what is
    drawn, so that an outline feels a target far off.
    """

    optimiser: Optimiser
    iterations: int = 50
    rate: Schedule = field(default_factory=lambda: constant(1.0))
    horizon: Schedule = field(default_factory=lambda: constant(1.0))
    renderer: Mapping[str, Schedule] = field(default_factory=dict)
    loss: Loss | None = None
    loss_settings: Mapping[str, Schedule] = field(default_factory=dict)
    only: tuple[str, ...] | None = None
    shared: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    stop: Stop = field(default_factory=Stop)
    params: Mapping[str, Schedule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chosen = instance("stage.optimiser", self.optimiser, Optimiser, get_optimiser)  # type: ignore[type-abstract]
        object.__setattr__(self, "optimiser", chosen)
        object.__setattr__(self, "iterations", whole("stage.iterations", self.iterations, 1))
        if self.loss is not None:
            object.__setattr__(self, "loss", instance("stage.loss", self.loss, Loss, get_loss))  # type: ignore[type-abstract]
        instance("stage.stop", self.stop, Stop)
        if self.stop.patience is None:
            object.__setattr__(self, "stop", replace(self.stop, patience=chosen.stop_window))
        for name in ("rate", "horizon"):
            given = getattr(self, name)
            if not isinstance(given, Schedule):
                object.__setattr__(self, name, constant(real(f"stage.{name}", given, above=0.0)))
        for name in ("only", "shared", "together"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        for end in (self.horizon.first, self.horizon.last):
            if not 0.0 < end <= 1.0:
                raise InputError(f"stage: got a horizon of {end:g}; expected a part of the time, above 0 and at most 1")

    def settings(self, iteration: int) -> tuple[float, dict[str, float]]:
        """(horizon, settings of the renderer and, as "loss.<name>" and "params.<name>", of loss and model)."""
        changes = {name: schedule.at(iteration, self.iterations) for name, schedule in self.renderer.items()}
        for name, schedule in self.loss_settings.items():
            changes[LOSS + name] = schedule.at(iteration, self.iterations)
        for name, schedule in self.params.items():
            changes[PARAMS + name] = schedule.at(iteration, self.iterations)
        return self.horizon.at(iteration, self.iterations), changes
