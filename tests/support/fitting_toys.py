"""A toy model, integrator and renderer in plain PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from diffloom.interfaces import (
    Camera,
    Capabilities,
    Control,
    CustomStep,
    Dynamics,
    Gradient,
    Image,
    InputError,
    Integrator,
    Light,
    Model,
    Params,
    ParamSpec,
    Renderer,
    SimulationError,
    State,
    Stress,
    Surface,
    Trajectory,
)
from diffloom.plugins import hookimpl

CORNERS = torch.tensor([[0.0, 0.6, 0.0], [-0.5, -0.4, 0.0], [0.5, -0.4, 0.0]], dtype=torch.float64)


@dataclass(frozen=True)
class ToyModel(Model):
    """``count`` points thrown under gravity, with linear drag and a push; each carries a small triangle."""

    count: int = 1
    limit: float = 1e3

    @property
    def specs(self):
        return (
            ParamSpec("velocity", (1.0, 2.0, 0.0), "m/s", "initial velocity", ("points", 3)),
            ParamSpec("gravity", 9.81, "m/s^2", "downward acceleration", (), (0.0, None)),
            ParamSpec("drag", 0.5, "1/s", "deceleration per speed", (), (0.0, None)),
            ParamSpec("bounce", 0.5, "", "unused number between two bounds", (), (0.0, 1.0)),
            ParamSpec("size", None, "m", "optional size", (), (0.0, None)),
            ParamSpec("push", 0.0, "m/s^2", "sideways acceleration", ("points",), per_step=True),
        )

    @property
    def axes(self):
        return {"points": self.count}

    def initial_state(self, params: Params) -> State:
        x = torch.zeros(self.count, 3, dtype=params.dtype)
        x[:, 0] = torch.linspace(-1.0, 1.0, self.count, dtype=params.dtype) * (self.count > 1)
        return State(x, params["velocity"].expand(self.count, 3).clone())

    def dynamics(self, params: Params, control: Control) -> Dynamics:
        down = torch.tensor([0.0, -1.0, 0.0], dtype=params.dtype)
        side = torch.tensor([1.0, 0.0, 0.0], dtype=params.dtype)

        def step(k: int, dt: float, state: State) -> State:
            push = control["push"][k] if "push" in control else params["push"].expand(self.count)
            a = params["gravity"] * down - params["drag"] * state.u + push[:, None] * side
            u = state.u + dt * a
            q = state.q + dt * u
            if float(q.detach().abs().max()) > self.limit:
                raise SimulationError(f"step {k}: the points flew away")
            return State(q, u, state.time + dt)

        return CustomStep(step, tuple(params.values()))

    def stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Stress:
        """A number that is easy to foretell: a thousand times the speed, plus the push."""
        speed = 1e3 * trajectory.u.norm(dim=2)
        if control is not None and "push" in control:
            speed = speed + control["push"]
        return Stress(speed.repeat_interleave(3, dim=1))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        size = params["size"] if "size" in params else torch.tensor(1.0, dtype=params.dtype)
        corners = CORNERS.to(params.dtype) * size
        vertices = (trajectory.q[:, :, None, :] + corners).reshape(len(trajectory), -1, 3)
        return Surface(vertices, torch.arange(3 * self.count).reshape(-1, 3))


@dataclass(frozen=True)
class ToySteps(Integrator):
    """Calls the model's own step."""

    def refuses(self, dynamics: Dynamics) -> str | None:
        return None if isinstance(dynamics, CustomStep) else f"toy_steps cannot advance {dynamics.kind!r}"

    def rollout(self, dynamics, state, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient):
        states = [state]
        for k in range(steps):
            states.append(dynamics.step(k, dt, states[-1]))
        kept = [states[k] for k in save]
        times = torch.tensor([k * dt for k in save], dtype=state.q.dtype)
        return Trajectory(torch.stack([s.q for s in kept]), torch.stack([s.u for s in kept]), times)


@dataclass(frozen=True)
class ToyRenderer(Renderer):
    """Each vertex is a Gaussian spot of ``sigma`` pixels on black; ``gain`` scales its brightness."""

    sigma: float = 1.5
    gain: float = 0.9
    floor: float = field(default=0.0)

    def __post_init__(self) -> None:
        if self.sigma <= 0.0:
            raise InputError(f"ToyRenderer: got sigma={self.sigma:g}; expected a positive number of pixels")

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            frozenset({"rgba", "silhouette"}), frozenset({"vertices", "colours"}),
            frozenset({torch.float32, torch.float64}),
        )  # fmt: skip

    def render(
        self, surface: Surface, camera: Camera, lights: Sequence[Light] = (), outputs: Sequence[str] = ("rgba",)
    ) -> Image:
        c = (surface.vertices - camera.eye) @ camera.rotation.T
        column = camera.centre[0] + camera.focal[0] * c[..., 0] / -c[..., 2]
        row = camera.centre[1] - camera.focal[1] * c[..., 1] / -c[..., 2]
        y = torch.arange(camera.height, dtype=c.dtype) + 0.5
        x = torch.arange(camera.width, dtype=c.dtype) + 0.5
        dy = torch.exp(-0.5 * ((y - row[..., None]) / self.sigma) ** 2)
        dx = torch.exp(-0.5 * ((x - column[..., None]) / self.sigma) ** 2)
        spot = self.gain * dy[..., :, None] * dx[..., None, :]
        clear = torch.cumprod(1.0 - spot, dim=1)[:, -1]
        alpha = 1.0 - clear
        colour = surface.colours if surface.colours is not None else torch.full((3,), 0.5, dtype=c.dtype)
        shade = colour.expand(surface.vertices.shape[1], 3)
        share = spot / (spot.sum(dim=1, keepdim=True) + 1e-12)
        rgb = torch.einsum("tvhw,vc->thwc", share, shade) * alpha[..., None]
        rgba = torch.cat([rgb, alpha[..., None]], dim=-1)
        return Image(rgba=rgba if "rgba" in outputs else None, silhouette=alpha if "silhouette" in outputs else None)


class ToyPlugin:
    """Registers the toys."""

    @hookimpl
    def diffloom_register_models(self, register):
        register("toy", ToyModel, summary="Points thrown under gravity")

    @hookimpl
    def diffloom_register_integrators(self, register):
        register("toy_steps", ToySteps, summary="Own steps")

    @hookimpl
    def diffloom_register_renderers(self, register):
        register("spots", ToyRenderer, summary="Gaussian spots")
        register("soft_spots", SoftSpots, summary="Wider Gaussian spots")


def SoftSpots(sigma: float = 1.7, gain: float = 0.9) -> ToyRenderer:
    return ToyRenderer(sigma, gain)
