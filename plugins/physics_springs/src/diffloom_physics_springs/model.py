"""Particles joined by damped springs: the smallest model, and the one to read first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import (
    Control,
    ExampleSettings,
    ImpactSettings,
    InputError,
    Model,
    Params,
    ParamSpec,
    State,
    Surface,
    Trajectory,
)
from diffloom.validation import as_whole_number
from diffloom_mechanics import (
    Mechanics,
    Term,
    external_force,
    freeze_array,
    get_step_values,
    particles,
    springs,
    suggest_explicit_step,
)
from diffloom_mechanics.contact import ground, make_contact_specs, resolve_contact_law


def make_ball_mesh() -> tuple[Tensor, Tensor]:
    """Return a unit ball of 42 vertices and 80 outward faces: an icosahedron, each face split in four."""
    g = (1.0 + 5.0**0.5) / 2.0
    corners = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g),
               (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]  # fmt: skip
    faces = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2),
             (10, 7, 6), (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11),
             (6, 2, 10), (8, 6, 7), (9, 8, 1)]  # fmt: skip
    points = [np.array(c, dtype=np.float64) for c in corners]
    middles: dict[tuple[int, int], int] = {}

    def middle(a: int, b: int) -> int:
        """Return the vertex between two vertices, and add it at first."""
        key = (min(a, b), max(a, b))
        if key not in middles:
            middles[key] = len(points)
            points.append(0.5 * (points[a] + points[b]))
        return middles[key]

    split = []
    for a, b, c in faces:
        ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
        split += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
    unit = np.array([p / np.linalg.norm(p) for p in points])
    return torch.from_numpy(unit), torch.tensor(split, dtype=torch.int64)


def make_balls(centres: Tensor, radius: float) -> tuple[Tensor, Tensor]:
    """Return vertices (frames, n * 42, 3) and faces (n * 80, 3) of balls around centres (frames, n, 3)."""
    unit, faces = make_ball_mesh()
    frames, count, _ = centres.shape
    vertices = centres[:, :, None, :] + radius * unit.to(centres.dtype)
    offsets = torch.arange(count)[:, None, None] * len(unit)
    return vertices.reshape(frames, -1, 3), (faces[None] + offsets).reshape(-1, 3)


def read_pairs(springs: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """Return pairs of particles as an array (springs, 2); raise InputError unless they are pairs of whole numbers."""
    try:
        given = np.asarray(springs)
        pairs = given.reshape(-1, 2)
    except ValueError as error:
        raise InputError(f"springs: got {springs!r:.200}; expected pairs of particles such as (0, 1)") from error
    if pairs.size and not (np.issubdtype(pairs.dtype, np.integer) and (np.abs(pairs) < 2**31).all()):
        numbers = pairs.reshape(-1).tolist()
        wrong = next((n for n in numbers if n != n or (not isinstance(n, int) and n % 1) or abs(n) >= 2**31), pairs[0])
        raise InputError(f"springs: got particle {wrong!r} of type {pairs.dtype}; expected whole numbers below 2^31")
    return pairs.astype(np.int32)


class SpringsModel(Model):
    """Point masses joined by damped springs.

    Args:
        positions: Initial places (n, 3) [m].
        springs: Pairs of particles.
        fixed: Particles that are held in place.
        on_ground: True for a contact plane.
        radius: Radius [m] of the balls as which particles are drawn.
        contact: Contact law, its name, or a table.
    """

    example_settings = ExampleSettings(
        dt=1.0 / 240.0,
        steps=24,
        fit="stiffness",
        rest={"gravity": (0.0, 0.0, 0.0), "ground_height": -10.0},
        claims=("translation", "rotation", "boost", "momentum", "angular_momentum"),
        variants=(
            {"friction": 0.02, "velocity": (1.0, 0.0, 0.2)},
            {"restitution": 0.5, "reference_speed": 0.7},
        ),
        impacts=ImpactSettings(1.0 / 960.0, 960, ("contact_stiffness", "contact_dissipation", "friction")),
    )

    def __init__(
        self,
        positions: Sequence[Sequence[float]],
        springs: Sequence[Sequence[int]],
        fixed: Sequence[int] = (),
        on_ground: bool = True,
        radius: float = 0.05,
        contact: object = "hunt_crossley",
    ) -> None:
        self._start = torch.as_tensor(np.asarray(positions, dtype=np.float64))
        if self._start.dim() != 2 or self._start.shape[1] != 3:
            raise InputError(f"positions: got shape {tuple(self._start.shape)}; expected (particles, 3)")
        self._pairs = freeze_array(read_pairs(springs))
        self._check_pairs(len(self._start))
        self._fixed = np.zeros(len(self._start), dtype=bool)
        self._fixed[self._check_fixed(fixed)] = True
        self._on_ground, self._radius = on_ground, radius
        self.contact = resolve_contact_law(contact)

    def _check_pairs(self, count: int) -> None:
        """Raise InputError unless every spring joins two different particles."""
        for number, (a, b) in enumerate(self._pairs):
            if not (0 <= a < count and 0 <= b < count) or a == b:
                raise InputError(
                    f"springs: number {number} joins particles {a} and {b}; "
                    f"expected two different ones of 0 to {count - 1}"
                )

    def _check_fixed(self, fixed: Sequence[int]) -> list[int]:
        """Return the held particles; raise InputError unless they exist."""
        held = [as_whole_number("fixed", particle) for particle in fixed]
        for particle in held:
            if not 0 <= particle < len(self._start):
                raise InputError(f"fixed: got particle {particle}; expected 0 to {len(self._start) - 1}")
        return held

    @classmethod
    def chain(cls, count: int = 10, length: float = 1.0, height: float = 1.0, **options: object) -> SpringsModel:
        """Return particles in a row along x, each joined to the next.

        Args:
            count: Number of particles.
            length: Length of the row [m].
            height: Height of the row [m].
            options: Further arguments of SpringsModel.

        Returns:
            The model.

        Example:
            ``chain = get_model("springs").chain(count=10, fixed=[0])``
        """
        x = np.linspace(0.0, length, count)
        places = np.stack([x, np.full(count, height), np.zeros(count)], axis=1)
        pairs = [(i, i + 1) for i in range(count - 1)]
        return cls(places.tolist(), pairs, **options)  # type: ignore[arg-type]

    @classmethod
    def example(cls) -> SpringsModel:
        """Return a small net that falls and meets the ground at once."""
        places = [[0.3 * i, 0.02 + 0.3 * j, 0.05 * i * j] for j in range(3) for i in range(3)]
        pairs = [(3 * j + i, 3 * j + i + 1) for j in range(3) for i in range(2)]
        pairs += [(3 * j + i, 3 * j + i + 3) for j in range(2) for i in range(3)]
        pairs += [(3 * j + i, 3 * j + i + 4) for j in range(2) for i in range(2)]
        return cls(places, pairs, fixed=(8,), radius=0.08)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        a, b = torch.from_numpy(self._pairs.astype(np.int64)).unbind(dim=1)
        lengths = (self._start[b] - self._start[a]).norm(dim=1)
        own = (
            ParamSpec("mass", 0.1, "kg", "mass of each particle", ("particles",), (0.0, None)),
            ParamSpec("stiffness", 100.0, "N/m", "force per stretch of each spring", ("springs",), (0.0, None)),
            ParamSpec("damping", 0.1, "N s/m", "force per rate of stretch", ("springs",), (0.0, None)),
            ParamSpec("rest_length", lengths, "m", "length without force", ("springs",), (0.0, None)),
            ParamSpec("position", self._start, "m", "initial places", ("particles", 3)),
            ParamSpec("velocity", (0.0, 0.0, 0.0), "m/s", "initial velocities", ("particles", 3)),
            ParamSpec("gravity", (0.0, -9.81, 0.0), "m/s^2", "acceleration of free fall", (3,)),
            ParamSpec("force", (0.0, 0.0, 0.0), "N", "external force", ("particles", 3), per_step=True),
        )
        if not self._on_ground:
            return own
        soft = {"contact_stiffness": 1e3, "contact_damping": 1.0, "friction_stiffness": 1.0}
        soft = {name: value for name, value in soft.items() if name in self.contact.names}
        return own + make_contact_specs(self.contact, **soft)

    @property
    def axes(self) -> Mapping[str, int]:
        return {"particles": len(self._start), "springs": len(self._pairs)}

    def initial_state(self, params: Params) -> State:
        shape = (len(self._start), 3)
        return State(broadcast(params["position"], shape), broadcast(params["velocity"], shape))

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        count = len(self._start)
        law = particles(broadcast(params["mass"], (count,)), params["gravity"], self._fixed)
        force = get_step_values("force", params, control, (count, 3))
        terms: list[Term] = [
            springs(self._pairs, params["stiffness"], params["damping"], params["rest_length"]),
            external_force(force),
        ]
        if self._on_ground:
            terms.append(ground(params, count, contact=self.contact))
        return Mechanics(law, tuple(terms))

    def suggested_dt(self, params: Params | None = None) -> float:
        """Return a step length [s] for explicit integrators, from the elasticity at the start and contact with the
        ground.

        Args:
            params: Parameters of the model; its defaults if None.
        """
        return suggest_explicit_step(self, params, self.contact if self._on_ground else None)

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        return Surface(*make_balls(trajectory.q, self._radius))
