"""Subjects under test: a model, an integrator or a renderer, from a name, a class or an instance."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import (
    Control,
    ExampleSettings,
    Gradient,
    Integrator,
    Model,
    NoGradient,
    Params,
    ParamSpec,
    Renderer,
    State,
    StoreAll,
    Trajectory,
)
from diffloom.plugins import get_integrator, get_model, get_renderer, integrators
from diffloom_testing.comparisons import as_trajectory, flatten_state
from diffloom_testing.results import Skip


@dataclass(frozen=True)
class ModelSubject:
    """A model with the example that it offers.

    Args:
        name: Name of the model.
        make: Returns a fresh example.
        settings: Settings of the example.
    """

    name: str
    make: Callable[[], Model]
    settings: ExampleSettings
    kind: str = field(default="model", init=False)

    @cached_property
    def model(self) -> Model:
        """The example that checks share; checks that change it call ``make``."""
        return self.make()

    @property
    def dt(self) -> float:
        """Step length of the example [s]."""
        return self.settings.dt

    @property
    def steps(self) -> int:
        """Number of steps of the example."""
        return self.settings.steps

    @property
    def fit(self) -> str:
        """Parameter with the clearest effect in the example."""
        return self.settings.fit

    @property
    def claims(self) -> tuple[str, ...]:
        """Invariances that the model claims."""
        return self.settings.claims

    def values(self, which: str) -> Mapping[str, Any]:
        """Return the parameter values of the settings "rest" or "free"; "free" is by default like "rest"."""
        settings = self.settings
        found = settings.free if which == "free" and settings.free is not None else settings.rest
        if found is None:
            state = "at rest" if which == "rest" else "free of outer forces"
            raise Skip(
                f"example_settings.{which} is None; give the parameter values under which the example is {state}"
            )
        return dict(found)

    def variant_with(self, name: str) -> Mapping[str, Any]:
        """Return values under which the parameter ``name`` exists and has an effect; empty if its default has one."""
        variants = self.settings.variants
        for variant in variants(self.model) if callable(variants) else variants:
            if name in variant:
                return dict(variant)
        if self.spec(name).default is not None:
            return {}
        raise Skip(f"{name!r} is optional, and no entry of example_settings.variants gives it a value")

    def spec(self, name: str) -> ParamSpec:
        """Return the declaration of one parameter."""
        return self.model.spec(name)

    @cached_property
    def integrator(self) -> str:
        """First installed integrator that runs the model; the model's default comes first."""
        dynamics = self.model.dynamics(self.model.params(torch.float64), Control())
        for name in sorted(integrators(), key=lambda n: (n != self.model.default_integrator, n)):
            if get_integrator(name)().refuses(dynamics) is None:
                return name
        raise Skip("no installed integrator advances this model")

    def params(self, **values: Any) -> Params:
        """Return the example's parameters in float64, with some values replaced."""
        return self.params_in(torch.float64, **values)

    def params_in(self, dtype: torch.dtype, **values: Any) -> Params:
        """Return the example's parameters in one precision, with some values replaced."""
        return self.model.params(dtype, **{**self.settings.values, **values})

    def roll(
        self,
        params: Params,
        *,
        steps: int | None = None,
        save: tuple[int, ...] | None = None,
        state: State | None = None,
        control: Control | None = None,
        gradient: Gradient | None = None,
        integrator: str | None = None,
        model: Model | None = None,
    ) -> Trajectory:
        """Run the example; by default all its steps, saving the middle and the end."""
        count = self.steps if steps is None else steps
        return simulate(
            model or self.model,
            params,
            dt=self.dt,
            steps=count,
            save=save if save is not None else (count // 2, count),
            integrator=integrator or self.integrator,
            gradient=gradient or StoreAll(),
            control=control,
            state=state,
        )

    @cached_property
    def extent(self) -> float:
        """Size of the example at the start [m]: the largest distance of a surface point from the middle."""
        state = self.model.initial_state(self.params())
        points = self.model.surface(as_trajectory(state), self.params()).vertices
        radius = float((points - points.mean(dim=1, keepdim=True)).norm(dim=-1).max().detach())
        return max(radius, 1e-6)

    def answer(self, params: Params, model: Model | None = None) -> Tensor:
        """Return the saved numbers of a run without gradients."""
        return flatten_state(self.roll(params, gradient=NoGradient(), model=model))


@dataclass(frozen=True)
class IntegratorSubject:
    """An integrator under test.

    Args:
        name: Name of the integrator.
        make: Returns a fresh instance.
    """

    name: str
    make: Callable[[], Integrator]
    kind: str = field(default="integrator", init=False)

    @cached_property
    def integrator(self) -> Integrator:
        """Instance that checks share."""
        return self.make()


@dataclass(frozen=True)
class RendererSubject:
    """A renderer under test.

    Args:
        name: Name of the renderer.
        make: Returns a fresh instance.
    """

    name: str
    make: Callable[[], Renderer]
    kind: str = field(default="renderer", init=False)

    @cached_property
    def renderer(self) -> Renderer:
        """Instance that checks share."""
        return self.make()


def model_subject(given: Any, settings: Mapping[str, Any] | None = None) -> ModelSubject:
    """Return the subject for a registered name, a class with ``example()``, or a model."""
    name, found = (given, get_model(given)) if isinstance(given, str) else (None, given)
    owner: Any = type(found) if isinstance(found, Model) else found
    title = str(name or getattr(owner, "__name__", owner))
    if not (isinstance(owner, type) and issubclass(owner, Model)):
        raise TypeError(f"{title}: got a factory, which has no example(); expected a Model class or a model")
    example = ExampleSettings.of(title, owner.example_settings).replace_fields(title, settings or {})
    return ModelSubject(title, (lambda: copy.deepcopy(found)) if isinstance(found, Model) else owner.example, example)


def integrator_subject(given: Any) -> IntegratorSubject:
    """Return the subject for a registered name, a class that needs no arguments, or an integrator."""
    name, found = (given, get_integrator(given)) if isinstance(given, str) else (None, given)
    make = (lambda: copy.deepcopy(found)) if isinstance(found, Integrator) else found
    return IntegratorSubject(name or _title(found), make)


def renderer_subject(given: Any) -> RendererSubject:
    """Return the subject for a registered name, a class that needs no arguments or has ``example()``, or a renderer."""
    name, found = (given, get_renderer(given)) if isinstance(given, str) else (None, given)
    if isinstance(found, Renderer):
        return RendererSubject(name or _title(found), lambda: copy.deepcopy(found))
    factory: Any = found
    derived = isinstance(factory, type) and issubclass(factory, Renderer)
    return RendererSubject(name or _title(found), factory.example if derived else factory)


def _title(found: Any) -> str:
    """Return the name of a class, or of an object's class."""
    return str(found.__name__ if isinstance(found, type) else type(found).__name__)
