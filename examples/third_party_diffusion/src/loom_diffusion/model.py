"""The model "diffusion": a field on a grid that evens out, shown by the colours of a plate that stands still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, final

import torch
from torch import Tensor

from diffloom.interfaces import (
    Control,
    CustomStep,
    ExampleSettings,
    InputError,
    Model,
    Params,
    ParamSpec,
    SimulationError,
    State,
    Surface,
    Trajectory,
)

#: Colours of the values 0 and 1, rgb.
COLD, HOT = (0.05, 0.1, 0.5), (1.0, 0.75, 0.2)


@final
class DiffusionModel(Model):
    """A plate in the plane z = 0 whose temperature spreads, dT/dt = diffusivity * laplacian(T), insulated all around.

    rows, columns: points of the grid. spacing: between two of them [m]. The state is q (rows x columns, 1), the
    temperature from 0 (cold) to 1 (hot), row by row from the upper left; u is its rate [1/s] in the last step.
    """

    example_settings: ClassVar[ExampleSettings] = ExampleSettings(dt=0.05, steps=12, fit="diffusivity")

    def __init__(self, rows: int = 13, columns: int = 13, spacing: float = 0.08) -> None:
        if rows < 2 or columns < 2 or not spacing > 0.0:
            raise InputError(
                f"diffusion: got {rows} x {columns} points {spacing:g} m apart; expected at least 2 x 2 and a distance "
                "above 0"
            )
        self._shape, self._spacing = (rows, columns), spacing
        i, j = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        x = spacing * (j - 0.5 * (columns - 1)).double()
        y = spacing * (0.5 * (rows - 1) - i).double()
        self._points = torch.stack([x, y, torch.zeros_like(x)], dim=-1).reshape(-1, 3)
        corner = (i * columns + j)[:-1, :-1].reshape(-1, 1)
        below = corner + columns
        upper = torch.cat([corner, below, corner + 1], dim=1)
        self._faces = torch.cat([upper, torch.cat([corner + 1, below, below + 1], dim=1)])
        # a hot spot beside the middle
        place = torch.tensor([0.15, 0.1, 0.0], dtype=torch.float64) * spacing * max(rows, columns)
        self._start = torch.exp(-(self._points - place).square().sum(1) / (2.0 * (2.0 * spacing) ** 2))

    @classmethod
    def example(cls) -> DiffusionModel:
        """A small plate, not square."""
        return cls(rows=5, columns=6)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (
            ParamSpec("diffusivity", 0.002, "m^2/s", "how fast temperature evens out", (), (0.0, None)),
            ParamSpec("temperature", self._start, "", "at the start, 0 cold, 1 hot", ("points",), (0.0, 1.0)),
        )

    @property
    def axes(self) -> Mapping[str, int]:
        return {"points": len(self._points)}

    def initial_state(self, params: Params) -> State:
        q = params["temperature"].expand(len(self._points))[:, None].clone()
        return State(q, torch.zeros_like(q))

    def dynamics(self, params: Params, control: Control) -> CustomStep:
        diffusivity = params["diffusivity"]

        def step(k: int, dt: float, state: State) -> State:
            number = float(diffusivity.detach()) * dt / self._spacing**2
            if not number <= 0.25:
                raise SimulationError(
                    f"step {k}: the diffusion number diffusivity dt / spacing^2 is {number:.3g}; explicit steps are "
                    "stable up to 0.25: take shorter ones"
                )
            rate = diffusivity * laplacian(state.q.reshape(self._shape), self._spacing).reshape(-1, 1)
            return State(state.q + dt * rate, rate, state.time + dt)

        return CustomStep(step, (diffusivity,))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        """A plate of one frame, with colours for every frame: cold where the temperature is 0, hot where it is 1."""
        cold, hot = (torch.tensor(rgb, dtype=trajectory.q.dtype) for rgb in (COLD, HOT))
        plate = self._points.to(trajectory.q.dtype)[None]
        return Surface(plate, self._faces, colours=torch.lerp(cold, hot, trajectory.q))


def laplacian(field: Tensor, spacing: float) -> Tensor:
    """Return the Laplacian of a field (rows, columns) [1/m^2], with no flow across the border."""
    down, across = field.diff(dim=0) / spacing**2, field.diff(dim=1) / spacing**2
    total = torch.zeros_like(field)
    total = total + torch.nn.functional.pad(down, (0, 0, 0, 1)) - torch.nn.functional.pad(down, (0, 0, 1, 0))
    return total + torch.nn.functional.pad(across, (0, 1)) - torch.nn.functional.pad(across, (1, 0))
