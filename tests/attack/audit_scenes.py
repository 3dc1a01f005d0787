"""Random scenes of every installed model, integrator, contact law and renderer, for the audit of gradients."""

from __future__ import annotations

import dataclasses
import inspect
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import (
    AmbientLight,
    Camera,
    Checkpointed,
    Control,
    DirectionalLight,
    ExampleSettings,
    Light,
    Material,
    Model,
    Params,
    PointLight,
    Renderer,
    StoreAll,
)
from diffloom.plugins import get_integrator, get_model, get_renderer, integrators, models, renderers
from diffloom_mechanics.kinds import CONTACT_LAWS

D = torch.float64
#: Settings of a renderer that a scene picks; any other renderer is drawn as by default.
CHOICES = {
    "softras": {"sigma": (1e-4, 1e-3, 1e-2), "gamma": (1e-2, 1e-1)},
    "dibr": {"sigmainv": (7000.0, 500.0, 50.0), "compat": (None, "kaolin")},
}
#: Arguments and values with which the example of a model touches the ground, where it would not.
TOUCHING = {"articulated": ({"ground": True}, {"ground_height": -0.9})}


class Combination(NamedTuple):
    """Parts of an audited scene; the law is "" for models without contact."""

    model: str
    integrator: str
    law: str
    renderer: str


@contextmanager
def example_arguments(model: type, **arguments: object) -> Iterator[None]:
    """Context manager: ``model.example()`` gets these arguments besides its own."""
    plain = model.__init__
    model.__init__ = lambda self, *given, **named: plain(self, *given, **{**named, **arguments})  # type: ignore[misc]
    try:
        yield
    finally:
        model.__init__ = plain  # type: ignore[misc]


def make_model(name: str, law: str) -> tuple[Model, ExampleSettings]:
    """Return the example of a model with a contact law, and its settings."""
    made = get_model(name)
    settings = ExampleSettings.of(name, made.example_settings)
    arguments, values = TOUCHING.get(name, ({}, {})) if law else ({}, {})
    with example_arguments(made, **arguments, **({"contact": law} if law else {})):
        return made.example(), dataclasses.replace(settings, values={**settings.values, **values})


def has_contact(name: str) -> bool:
    """Return True if a model takes a contact law."""
    return "contact" in inspect.signature(get_model(name).__init__).parameters


def list_combinations() -> tuple[list[Combination], list[tuple[str, str]]]:
    """Return the combinations that can be audited, and those that cannot with the reason."""
    found, left_out = [], []
    for renderer in renderers():
        if D not in get_renderer(renderer)().capabilities.dtypes:
            left_out.append((renderer, "draws in single precision only"))
    exact = [name for name in renderers() if D in get_renderer(name)().capabilities.dtypes]
    for name in models():
        for law in CONTACT_LAWS.names() if has_contact(name) else ("",):
            model, settings = make_model(name, law)
            dynamics = model.dynamics(model.params(D, **settings.values), Control())
            for integrator in integrators():
                reason = get_integrator(integrator)().refuses(dynamics)
                if reason is None:
                    found += [Combination(name, integrator, law, renderer) for renderer in exact]
                else:
                    left_out.append((f"{name}, {integrator}", reason))
    return found, list(dict.fromkeys(left_out))


class Scene:
    """A random scene: parameters near those of the model's example, a camera, lights, and a target image.

    Args:
        combination: What it is made of.
        seed: Seed of its random numbers.
    """

    def __init__(self, combination: Combination, seed: int) -> None:
        self.combination = combination
        self.random = random.Random(f"{seed} {combination}")
        self.torch_random = torch.Generator().manual_seed(self.random.randrange(2**31))
        self.model, settings = make_model(combination.model, combination.law)
        self.steps = min(settings.steps, 60)
        self.save = tuple(sorted({self.random.randint(1, self.steps), self.steps}))
        self.dt = settings.dt * self.random.uniform(0.6, 1.0)
        self.policy = self.random.choice([StoreAll(), Checkpointed()])
        self.base = self.model.params(D, **settings.values)
        self.sought = [s.name for s in self.model.specs if s.differentiable and s.name in self.base]
        self.base = self.base.replace(**{name: self._change(self.base[name], 0.1) for name in self.sought})
        self.renderer = self._pick_renderer()
        self.lights = self._pick_lights()
        self.material = Material(self.random.choice(["lambert", "phong", "unlit"]))
        self.colours: Tensor | None = None
        self.camera: Camera | None = None
        self.camera = self._pick_camera()
        with torch.no_grad():
            changed = {name: self._change(self.base[name], 0.05) for name in self.sought}
            self.target = self._draw(self.base.replace(**changed))

    def _change(self, value: Tensor, share: float) -> Tensor:
        """Return a value changed at random by up to a share; zeros, where laws have kinks, become small numbers."""
        noise = torch.rand(value.shape, generator=self.torch_random, dtype=D)
        return torch.where(value == 0.0, 1e-3 * (0.1 + noise), value * (1.0 + share * (2.0 * noise - 1.0)))

    def _pick_renderer(self) -> Renderer:
        choices = CHOICES.get(self.combination.renderer, {})
        return get_renderer(self.combination.renderer)(**{k: self.random.choice(v) for k, v in choices.items()})

    def _pick_lights(self) -> list[Light]:
        place = tuple(self.random.uniform(-3.0, 3.0) for _ in range(3))
        return [AmbientLight(0.4), self.random.choice([PointLight(place), DirectionalLight(place)])]

    def _pick_camera(self) -> Camera:
        """Return a camera that sees the whole motion from a random side."""
        with torch.no_grad():
            points = self._surface(self.base).vertices.reshape(-1, 3)
        middle = 0.5 * (points.min(dim=0).values + points.max(dim=0).values)
        reach = float((points - middle).norm(dim=1).max())
        flat = self.combination.model == "smoke"  # a square, seen from the front
        sides = (self.random.uniform(-5.0, 50.0), self.random.uniform(-180.0, 180.0))
        elevation, azimuth = (15.0, 25.0) if flat else sides
        return Camera.orbit(
            reach * self.random.uniform(2.0, 3.0), elevation, azimuth, target=tuple(middle.tolist()),
            size=(24, 24), near=0.05 * reach, far=20.0 * reach, dtype=D,
        )  # fmt: skip

    def _surface(self, params: Params):
        path = simulate(
            self.model, params, dt=self.dt, steps=self.steps, save=self.save, gradient=self.policy,
            integrator=self.combination.integrator,
        )  # fmt: skip
        surface = self.model.surface(path, params)
        if surface.texture is None and surface.colours is None:
            if self.colours is None:
                self.colours = torch.rand((surface.vertices.shape[1], 3), generator=self.torch_random, dtype=D)
            surface = dataclasses.replace(surface, colours=self.colours)
        if isinstance(surface.material, Material):
            surface = dataclasses.replace(surface, material=self.material)
        return surface

    def _draw(self, params: Params) -> Tensor:
        image = self.renderer.render(self._surface(params), self.camera, self.lights, outputs=("rgba",))
        return image.rgba

    def loss(self, params: Params) -> Tensor:
        """Return the mean squared difference between the images of these parameters and the target."""
        return (self._draw(params) - self.target).square().mean()

    def find_omission(self) -> str:
        """Return which part of the gradient the renderer's page says is left out in this scene, or ""."""
        return "Kaolin's own formulas" if getattr(self.renderer, "compat", None) else ""

    def directions(self) -> dict[str, Tensor]:
        """Return a random direction for each parameter, in which it changes by up to its own size."""
        signs = {name: 2.0 * torch.rand(self.base[name].shape, generator=self.torch_random, dtype=D) - 1.0
                 for name in self.sought}  # fmt: skip
        return {name: sign * self.base[name].abs() for name, sign in signs.items()}
