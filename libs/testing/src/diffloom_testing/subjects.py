"""What is put to the test: a model, an integrator or a renderer, however it was given."""

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
    """A model with the example it offers. settings: see ``diffloom_testing.check_model``."""

    name: str
    make: Callable[[], Model]
    settings: ExampleSettings
    kind: str = field(default="model", init=False)

    @cached_property
    def model(self) -> Model:
        """The example; checks that must not share it call ``make``."""
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
        """The parameter that the example shows best."""
        return self.settings.fit

    @property
    def claims(self) -> tuple[str, ...]:
        """The invariances that the model claims."""
        return self.settings.claims

    def values(self, which: str) -> Mapping[str, Any]:
        """Parameter values of the settings "rest" or "free" (which is like "rest" unless given)."""
        settings = self.settings
        found = settings.free if which == "free" and settings.free is not None else settings.rest
        if found is None:
            raise Skip(f"example_settings has no {which!r}: parameter values under which the example is so")
        return dict(found)

    def variant_with(self, name: str) -> Mapping[str, Any]:
        """Values to give so that the parameter ``name`` is there and shows: none when its default will do."""
        variants = self.settings.variants
        for variant in variants(self.model) if callable(variants) else variants:
            if name in variant:
                return dict(variant)
        if self.spec(name).default is not None:
            return {}
        raise Skip(f"{name!r} is optional, and no entry of example_settings.variants gives it a value")

    def spec(self, name: str) -> ParamSpec:
        """The declaration of one parameter."""
        return self.model.spec(name)

    @cached_property
    def integrator(self) -> str:
        """The first installed integrator that runs the model, its default before others."""
        dynamics = self.model.dynamics(self.model.params(torch.float64), Control())
        for name in sorted(integrators(), key=lambda n: (n != self.model.default_integrator, n)):
            if get_integrator(name)().refuses(dynamics) is None:
                return name
        raise Skip("no installed integrator advances this model")

    def params(self, **values: Any) -> Params:
        """The example's parameters in float64, some of them given."""
        return self.params_in(torch.float64, **values)

    def params_in(self, dtype: torch.dtype, **values: Any) -> Params:
        """The example's parameters in one precision, some of them given."""
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
        """Size of the example [m, where coordinates are places]: the largest distance from the middle, at the start."""
        state = self.model.initial_state(self.params())
        points = self.model.surface(as_trajectory(state), self.params()).vertices
        radius = float((points - points.mean(dim=1, keepdim=True)).norm(dim=-1).max().detach())
        return max(radius, 1e-6)

    def flat(self, trajectory: Trajectory) -> Tensor:
        """All saved numbers in a row."""
        return flatten_state(trajectory)

    def answer(self, params: Params, model: Model | None = None) -> Tensor:
        """The saved numbers of a run without gradients."""
        return self.flat(self.roll(params, gradient=NoGradient(), model=model))


@dataclass(frozen=True)
class IntegratorSubject:
    """An integrator, made by ``make``."""

    name: str
    make: Callable[[], Integrator]
    kind: str = field(default="integrator", init=False)

    @cached_property
    def integrator(self) -> Integrator:
        """The instance that checks share."""
        return self.make()


@dataclass(frozen=True)
class RendererSubject:
    """A renderer, made by ``make``."""

    name: str
    make: Callable[[], Renderer]
    kind: str = field(default="renderer", init=False)

    @cached_property
    def renderer(self) -> Renderer:
        """The instance that checks share."""
        return self.make()


def model_subject(given: Any, settings: Mapping[str, Any] | None = None) -> ModelSubject:
    """A registered name, a class with ``example()``, or a model itself."""
    name, found = (given, get_model(given)) if isinstance(given, str) else (None, given)
    owner: Any = type(found) if isinstance(found, Model) else found
    title = str(name or getattr(owner, "__name__", owner))
    if not (isinstance(owner, type) and issubclass(owner, Model)):
        raise TypeError(f"{title}: only a class has an example to check; got a factory, so give a model that it makes")
    example = ExampleSettings.of(title, owner.example_settings).changed(title, settings or {})
    return ModelSubject(title, (lambda: copy.deepcopy(found)) if isinstance(found, Model) else owner.example, example)


def integrator_subject(given: Any) -> IntegratorSubject:
    """A registered name, a class that needs no arguments, or an integrator itself."""
    name, found = (given, get_integrator(given)) if isinstance(given, str) else (None, given)
    make = (lambda: copy.deepcopy(found)) if isinstance(found, Integrator) else found
    return IntegratorSubject(name or _title(found), make)


def renderer_subject(given: Any) -> RendererSubject:
    """A registered name, a class that needs no arguments (or has ``example()``), or a renderer itself."""
    name, found = (given, get_renderer(given)) if isinstance(given, str) else (None, given)
    if isinstance(found, Renderer):
        return RendererSubject(name or _title(found), lambda: copy.deepcopy(found))
    factory: Any = found
    derived = isinstance(factory, type) and issubclass(factory, Renderer)
    return RendererSubject(name or _title(found), factory.example if derived else factory)


def _title(found: Any) -> str:
    return str(found.__name__ if isinstance(found, type) else type(found).__name__)
