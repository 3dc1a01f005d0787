"""A small fit for trying optimisers: two unknowns of a thrown point, found from its positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.interfaces import (
    Camera,
    Capabilities,
    Control,
    CustomStep,
    Image,
    Light,
    Model,
    Params,
    ParamSpec,
    Renderer,
    SimulationError,
    State,
    Surface,
    Trajectory,
)
from diffloom_fitting.losses import StateError
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import Orbit, Scene
from diffloom_fitting.targets import Target
from diffloom_fitting.unknowns import Unknown, resolve

DT, STEPS = 0.1, 8
START = {"gravity": 6.0, "drag": 1.1}
TRUTH = {"gravity": 9.0, "drag": 0.6}


@dataclass(frozen=True)
class Thrown(Model):
    """A point thrown under gravity with linear drag.

    Args:
        cliff: Gravity [m/s^2] from which on the simulation fails.
    """

    cliff: float = float("inf")
    default_integrator = "custom_step"

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (
            ParamSpec("gravity", 9.0, "m/s^2", "downward acceleration", (), (0.0, None)),
            ParamSpec("drag", 0.6, "1/s", "deceleration per speed", (), (0.0, None)),
        )

    @property
    def axes(self) -> Mapping[str, int]:
        return {}

    def initial_state(self, params: Params) -> State:
        return State(torch.zeros((1, 3), dtype=params.dtype), torch.tensor([[2.0, 3.0, 0.5]], dtype=params.dtype))

    def dynamics(self, params: Params, control: Control) -> CustomStep:
        down = torch.tensor([0.0, -1.0, 0.0], dtype=params.dtype)

        def step(k: int, dt: float, state: State) -> State:
            if float(params["gravity"].detach()) >= self.cliff:
                raise SimulationError(f"step {k}: the point fell off a cliff")
            u = state.u + dt * (params["gravity"] * down - params["drag"] * state.u)
            return State(state.q + dt * u, u, state.time + dt)

        return CustomStep(step, tuple(params.values()))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        corners = torch.eye(3, dtype=trajectory.q.dtype)
        return Surface(trajectory.q + corners, torch.tensor([[0, 1, 2]]))


@dataclass(frozen=True)
class Blind(Renderer):
    """Renderer without images, for fits to states."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(frozenset(), frozenset(), frozenset({torch.float32, torch.float64}))

    def render(
        self, surface: Surface, camera: Camera, lights: Sequence[Light] = (), outputs: Sequence[str] = ("rgba",)
    ) -> Image:
        return Image()


def valley(dtype: torch.dtype = torch.float64, cliff: float = float("inf")) -> Objective:
    """Return the objective: smooth, with one minimum where the loss is 0."""
    model = Thrown()
    scene = Scene(model, Blind(), Orbit(size=(4, 4)), model.params(dtype), DT, STEPS)
    times = DT * torch.arange(1, STEPS + 1, dtype=torch.float64)
    truth = {name: torch.tensor(value, dtype=dtype) for name, value in TRUTH.items()}
    q = scene.render(truth, times, outputs=()).q.detach()
    layout = resolve([Unknown(name, value) for name, value in START.items()], scene)
    return Objective(replace(scene, model=Thrown(cliff)), Target(times, q=q), StateError(), layout)


def start(objective: Objective) -> Tensor:
    """Return the start (2,) of the search."""
    return objective.layout.encode({slot.name: slot.start for slot in objective.layout.slots})


def shorter(objective: Objective) -> Objective:
    """Return the objective with half the horizon, as after a change of a schedule."""
    return objective.with_horizon(0.5)


def small_fit(dtype: torch.dtype = torch.float64) -> tuple[Objective, Tensor, dict[str, float]]:
    """Return a fit of two unknowns that takes milliseconds.

    Args:
        dtype: Precision.

    Returns:
        The objective, the start (2,), and the truth by name.
    """
    objective = valley(dtype)
    return objective, start(objective), dict(TRUTH)
