"""Model "smoke": smoke in an incompressible flow, in 2D."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, final

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
    State,
    Surface,
    Texture,
    Trajectory,
)
from diffloom.validation import check_choice

from .flow import Flow
from .patterns import make_pattern

#: Colours of the densities 0 and 1, rgb.
CLEAR, DENSE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)

#: Corners of the plate and a point inside, as fractions of its sides. Edges from there to the corners pass through few
#: centres of pixels; a diagonal would pass through many, and soft rasterizers would show it.
PLATE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.4637, 0.5291]]

#: Velocities [m/s] of the 30 cells of the example: irregular, so that no sample falls on a centre or face.
EDDIES = [[0.3 * ((7 * k) % 5 - 2) + 0.013 * k, 0.2 * ((3 * k) % 7 - 3) - 0.007 * k] for k in range(30)]


@final
class SmokeModel(Model):
    """Smoke in an incompressible flow without viscosity (Stam 1999), shown on a plate in the plane z = 0.

    The state is q (cells, 1), the density, and u (cells, 2) [m/s], the velocity at the left and lower face of each
    cell, row by row from below.

    Args:
        rows: Number of rows of cells, at least 2.
        columns: Number of columns of cells, at least 2.
        spacing: Side of a cell [m].
        boundary: "walls" or "periodic".
        smoke: Initial pattern ("disc", "layer", "letter", "plume", "none") or the path of an image; the parameter
            ``density`` sets it cell by cell.
        clear: Colour of the density 0, rgb.
        dense: Colour of the density 1, rgb.
    """

    default_integrator = "custom_step"
    example_settings: ClassVar[ExampleSettings] = ExampleSettings(
        dt=0.05,
        steps=6,
        fit="buoyancy",
        values={"velocity": EDDIES, "buoyancy": 0.7, "dissipation": 0.4},
        rest={"velocity": 0.0, "buoyancy": 0.0, "dissipation": 0.0},
    )

    def __init__(
        self,
        rows: int = 64,
        columns: int = 64,
        spacing: float = 1.0 / 64.0,
        boundary: Literal["walls", "periodic"] = "walls",
        smoke: str = "disc",
        clear: tuple[float, float, float] = CLEAR,
        dense: tuple[float, float, float] = DENSE,
    ) -> None:
        if rows < 2 or columns < 2 or not spacing > 0.0:
            raise InputError(
                f"smoke: got {rows} x {columns} cells of {spacing:g} m; expected at least 2 x 2 and a spacing above 0"
            )
        check_choice("smoke: boundary", boundary, ("walls", "periodic"))
        self._flow = Flow(rows, columns, float(spacing), boundary == "walls")
        self._start = torch.from_numpy(make_pattern(smoke, rows, columns).copy())
        self._clear, self._dense = (torch.tensor(rgb, dtype=torch.float64) for rgb in (clear, dense))
        self._uv = torch.tensor(PLATE, dtype=torch.float64)
        size = torch.tensor([columns * spacing, rows * spacing], dtype=torch.float64)
        self._points = torch.nn.functional.pad(size * (self._uv - 0.5), (0, 1))

    @classmethod
    def example(cls) -> SmokeModel:
        """Return a model of a few cells between walls, not square."""
        return cls(rows=5, columns=6, spacing=0.2)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (
            ParamSpec("density", self._start, "", "initial smoke, 0 none, 1 dense", ("cells",), (0.0, None)),
            ParamSpec(
                "velocity", 0.0, "m/s", "initial velocity at left and lower faces; its divergence is removed",
                ("cells", 2),
            ),
            ParamSpec("buoyancy", 0.0, "m/s^2", "upward acceleration of dense smoke"),
            ParamSpec("dissipation", 0.0, "1/s", "rate at which smoke vanishes", (), (0.0, None)),
        )  # fmt: skip

    @property
    def axes(self) -> Mapping[str, int]:
        return {"cells": self._flow.rows * self._flow.columns}

    def initial_state(self, params: Params) -> State:
        cells = self.axes["cells"]
        velocity = params["velocity"].expand(cells, 2).contiguous()
        return State(params["density"].expand(cells)[:, None].clone(), self._flow.project(velocity))

    def dynamics(self, params: Params, control: Control) -> CustomStep:
        flow, buoyancy, dissipation = self._flow, params["buoyancy"], params["dissipation"]

        def step(k: int, dt: float, state: State) -> State:
            q, u = flow.step(state.q, state.u, dt * buoyancy, 1.0 / (1.0 + dt * dissipation), dt)
            return State(q, u, state.time + dt)

        return CustomStep(step, (buoyancy, dissipation))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        """Return a plate of four triangles with an image for every frame, a texel for each cell."""
        q = trajectory.q
        kind: Any = {"dtype": q.dtype, "device": q.device}
        image = q.reshape(len(q), self._flow.rows, self._flow.columns, 1).flip(1).clamp(0.0, 1.0)
        clear, dense = self._clear.to(**kind), self._dense.to(**kind)
        faces = torch.tensor([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], device=q.device)
        texture = Texture(torch.lerp(clear, dense, image), self._uv.to(**kind), corners=False)
        return Surface(self._points.to(**kind)[None], faces, texture=texture)

    def vorticity(self, trajectory: Trajectory) -> Tensor:
        """Return the vorticity of the flow (frames, rows, columns) [1/s], at the lower left corner of each cell."""
        w = trajectory.u.reshape(-1, self._flow.rows, self._flow.columns, 2)
        across, up = w[..., 1] - w[..., 1].roll(1, dims=2), w[..., 0] - w[..., 0].roll(1, dims=1)
        return (across - up) / self._flow.spacing
