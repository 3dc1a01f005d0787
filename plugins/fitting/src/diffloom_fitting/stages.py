"""Stages of a fit: optimiser, moving unknowns, schedules and stopping rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from diffloom.interfaces import InputError, Renderer
from diffloom.plugins import get_renderer
from diffloom.validation import check_settings
from diffloom_fitting import get_loss, get_optimiser
from diffloom_fitting.losses import Loss
from diffloom_fitting.optimisers import Optimiser
from diffloom_fitting.validation import check_instance, check_real, check_whole

LOSS = "loss."
PARAMS = "params."


@dataclass(frozen=True)
class Schedule:
    """A value that changes from ``first`` to ``last`` during a stage.

    Args:
        first: Value at the first iteration.
        last: Value at the end.
        shape: "linear", "exponential" (equal factors; both ends positive), or "steps", which change the objective
            rarely and so suit Gauss-Newton and L-BFGS.
        over: Part (0..1] of the stage after which the value is constant.
        count: Number of steps of the shape "steps".
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
            raise InputError(
                f"schedule: got {self.first:g} to {self.last:g}; expected positive ends for the shape exponential"
            )
        if not 0.0 < self.over <= 1.0:
            raise InputError(f"schedule: got over={self.over:g}; expected a part of the stage, above 0 and at most 1")
        if self.count < 2:
            raise InputError(f"schedule: got count={self.count}; expected 2 or more steps")

    def at(self, iteration: int, iterations: int) -> float:
        """Return the value at an iteration.

        Args:
            iteration: Iteration 0, 1, ... of the stage.
            iterations: Number of iterations of the stage.

        Returns:
            The value.
        """
        length = max(1.0, self.over * (iterations - 1))
        part = min(1.0, iteration / length)
        if self.shape == "exponential":
            return float(self.first * (self.last / self.first) ** part)
        if self.shape == "steps":
            part = min(int(part * self.count), self.count - 1) / (self.count - 1)
        return self.first + (self.last - self.first) * part


def constant(value: float) -> Schedule:
    """Return a schedule that does not change."""
    return Schedule(value, value)


@dataclass(frozen=True)
class Stop:
    """Rules that end a stage before its iterations are used up; None switches a rule off.

    Args:
        loss: End at this loss.
        change: End if the loss fell by less than this part of itself over ``patience`` iterations.
        gradient: End at this norm of the gradient in the searched space.
        patience: Iterations of the rule ``change``; None for the optimiser's own, which is long if its loss may rise.
        seconds: End after this time [s].
    """

    loss: float | None = None
    change: float | None = None
    gradient: float | None = None
    patience: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.patience is not None:
            check_whole("stop.patience", self.patience, 1)
        for name in ("loss", "change", "gradient", "seconds"):
            if getattr(self, name) is not None:
                check_real(f"stop.{name}", getattr(self, name), least=0.0)

    def low_enough(self, loss: float) -> bool:
        """Return true if a loss ends the stage.

        Args:
            loss: The loss.

        Returns:
            True at or below ``loss``.
        """
        return self.loss is not None and loss <= self.loss

    def reason(self, losses: Sequence[float], gradient: float | None, seconds: float) -> str | None:
        """Return the reason to stop.

        Args:
            losses: Losses of the stage so far.
            gradient: Norm of the gradient, if known.
            seconds: Time of the stage [s].

        Returns:
            The reason, or None to continue.
        """
        if self.low_enough(losses[-1]):
            return f"the loss reached {self.loss:g} (stop.loss)"
        if self.gradient is not None and gradient is not None and gradient <= self.gradient:
            return f"the gradient's norm reached {self.gradient:g} (stop.gradient)"
        patience = 5 if self.patience is None else self.patience
        if self.change is not None and len(losses) > patience:
            before, now = min(losses[:-patience]), min(losses)
            if before - now <= self.change * abs(before):
                return f"the loss fell by less than {self.change:g} of itself in {patience} iterations"
        if self.seconds is not None and seconds >= self.seconds:
            return f"the stage ran for {self.seconds:g} s (stop.seconds)"
        return None


@dataclass(frozen=True)
class Stage:
    """One stage of a fit.

    Args:
        optimiser: The optimiser.
        iterations: Largest number of iterations.
        rate: Factor on the optimiser's own rate.
        horizon: Part (0..1] of the target's time that the loss compares.
        renderer: Settings of the renderer that change, such as {"sigma": Schedule(1e-3, 1e-5, "exponential")}.
        loss: Loss that replaces the experiment's.
        loss_settings: Settings of the loss that change.
        only: Unknowns that move; None for all.
        shared: Unknowns whose rows take one value.
        together: Unknowns whose rows move by the same amount, keeping their differences.
        stop: Rules that end the stage earlier.
        params: Known parameters of the model that change, for an easier problem first, such as {"friction_smoothing":
            Schedule(0.5, 0.1)}; {"camera.lens_blur": Schedule(20.0, 0.5, "exponential")} blurs the images, so that
            distant outlines have a gradient.
        drawn_by: Renderer of this stage, or its registered name; None for the scene's. Coarse stages may draw softly,
            and the last one exactly.
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
    drawn_by: Renderer | None = None

    def __post_init__(self) -> None:
        chosen = check_instance("stage.optimiser", self.optimiser, Optimiser, get_optimiser)  # type: ignore[type-abstract]
        object.__setattr__(self, "optimiser", chosen)
        object.__setattr__(self, "iterations", check_whole("stage.iterations", self.iterations, 1))
        if self.loss is not None:
            object.__setattr__(self, "loss", check_instance("stage.loss", self.loss, Loss, get_loss))  # type: ignore[type-abstract]
        if self.drawn_by is not None:
            drawn = check_instance("stage.drawn_by", self.drawn_by, Renderer, get_renderer)  # type: ignore[type-abstract]
            object.__setattr__(self, "drawn_by", drawn)
        check_instance("stage.stop", self.stop, Stop)
        if self.stop.patience is None:
            object.__setattr__(self, "stop", replace(self.stop, patience=chosen.stop_window))
        for name in ("rate", "horizon"):
            given = getattr(self, name)
            if not isinstance(given, Schedule):
                object.__setattr__(self, name, constant(check_real(f"stage.{name}", given, above=0.0)))
        for name in ("only", "shared", "together"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        for end in (self.horizon.first, self.horizon.last):
            if not 0.0 < end <= 1.0:
                raise InputError(f"stage: got a horizon of {end:g}; expected a part of the time, above 0 and at most 1")

    def settings(self, iteration: int) -> tuple[float, dict[str, float]]:
        """Return the values of the schedules at an iteration.

        Args:
            iteration: Iteration 0, 1, ... of the stage.

        Returns:
            Horizon, and settings of the renderer and, as "loss.<name>" and "params.<name>", of loss and model.
        """
        changes = {name: schedule.at(iteration, self.iterations) for name, schedule in self.renderer.items()}
        for name, schedule in self.loss_settings.items():
            changes[LOSS + name] = schedule.at(iteration, self.iterations)
        for name, schedule in self.params.items():
            changes[PARAMS + name] = schedule.at(iteration, self.iterations)
        return self.horizon.at(iteration, self.iterations), changes
