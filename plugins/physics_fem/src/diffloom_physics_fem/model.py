"""Model "fem": deformable solids of tetrahedra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast, broadcast_read_only
from diffloom.interfaces import (
    Control,
    ExampleSettings,
    ImpactSettings,
    InputError,
    MemorySpec,
    Model,
    Params,
    ParamSpec,
    State,
    Stress,
    Surface,
    Texture,
    Trajectory,
)
from diffloom.transforms import suspend_transforms
from diffloom_geometry import TetMesh, assemble, extract_surface
from diffloom_mechanics import ElementTerm, Mechanics, freeze_array, particles, suggest_explicit_step
from diffloom_mechanics.contact import TouchingSkin, ground as ground_contact, normalise_normal, resolve_contact_law
from diffloom_physics_fem.elasticity import (
    Energy,
    TetRestShape,
    cauchy_stress,
    contact_energy,
    elastic_energy,
    neo_hookean_moduli,
    rest_inverse,
    rest_shape,
    von_mises,
)
from diffloom_physics_fem.materials import SolidMaterial, resolve_material
from diffloom_physics_fem.motion import compute_velocities, place_points
from diffloom_physics_fem.regions import find_fixed_vertices, find_regions, get_region
from diffloom_physics_fem.solids import make_solid
from diffloom_physics_fem.specs import choose_alternatives, declare_specs
from diffloom_physics_fem.terms import material_tetrahedra, tetrahedra


@final
class FemModel(Model):
    """Deformable solid of tetrahedra, neo-Hookean by default.

    Args:
        mesh: "box", "beam", "ball", "gear", the path of a ``.tet``, ``.msh`` or ``.node``/``.ele`` file or of a closed
            surface, a closed ``trimesh.Trimesh``, or a TetMesh.
        size: Edge lengths [x, y, z] of a box, or [length, height, width] of a beam from x = 0 [m].
        cells: Numbers of cells [nx, ny, nz] of a box or beam.
        split: Tetrahedra per cell of a box or beam, 5 or 6.
        radius: Radius of a ball or gear [m].
        layers: Layers of a ball from centre to surface, or of a gear across its width.
        width: Width of a gear [m].
        teeth: Number of teeth of a gear.
        edge_length: Edge of the tetrahedra that fill a closed surface, as a fraction of its diagonal; None for 0.1, or
            less where that does not fit.
        scale: Factor on all lengths of the mesh.
        repair: Repair inverted, flat and repeated tetrahedra and drop unused vertices; repairs are logged as a warning.
        regions: Named parts of the solid, each {vertices = [..]}, {tets = [..]}, {box = [[..], [..]]} or {centre =
            [..], radius = r}. Groups of the mesh (a box has left, right, bottom, top, back, front) are regions too.
        fixed: Regions, or indices of vertices, that are held in place.
        shared: By region, names of parameters of which it has its own, called ``<parameter>_<region>``: {"muscle":
            ["activation"]} gives the parameter (and control) ``activation_muscle``.
        ground: True for a contact plane.
        contact: Contact law, its name, or a table.
        material: "neo_hookean", "von_mises", "drucker_prager" or "viscoelastic", each with parameters of its own, or a
            SolidMaterial.

    Example:
        ``ball = get_model("fem")("ball", radius=0.3)``
    """

    example_settings = ExampleSettings(
        dt=1e-3,
        steps=60,
        fit="shear_modulus",
        # Just above the ground; by default its middle lies there, with nodes on the very kink of the contact force.
        values={"position": (0.0, 0.103, 0.0)},
        rest={"gravity": (0.0, 0.0, 0.0), "ground_height": -10.0},
        claims=("translation", "rotation", "boost", "momentum", "angular_momentum"),
        variants=lambda model: (
            {"mass": 0.3},
            {"friction": 0.02, "velocity": (1.0, 0.0, 0.2)},
            {"restitution": 0.5, "reference_speed": 0.7},
            {"youngs_modulus": 2e5, "poisson_ratio": 0.3},
            {"start_shape": model.mesh.vertices, "rest_shape": model.mesh.vertices},
        ),
        impacts=ImpactSettings(
            5e-4, 1200, ("contact_stiffness", "contact_dissipation", "friction"),
            {"position": (0.0, 0.3, 0.0), "orientation": (1.0, 0.1, 0.0, 0.2), "velocity": (0.5, 0.0, 0.2)},
        ),
    )  # fmt: skip

    def __init__(
        self,
        mesh: str | Path | TetMesh | Any = "box",
        *,
        size: Sequence[float] | None = None,
        cells: Sequence[int] | None = None,
        split: int | None = None,
        radius: float | None = None,
        layers: int | None = None,
        width: float | None = None,
        teeth: int | None = None,
        edge_length: float | None = None,
        scale: float = 1.0,
        repair: bool = False,
        regions: Mapping[str, Mapping[str, Any]] | None = None,
        fixed: Sequence[str | int] = (),
        shared: Mapping[str, Sequence[str]] | None = None,
        ground: bool = True,
        contact: object = "hunt_crossley",
        material: str | SolidMaterial = "neo_hookean",
    ) -> None:
        shape = {"size": size, "cells": cells, "split": split, "radius": radius, "layers": layers, "width": width,
                 "teeth": teeth, "edge_length": edge_length}  # fmt: skip
        self.mesh = make_solid(mesh, shape, scale=scale, repair=repair)
        self.regions = find_regions(self.mesh, regions or {})
        self.fixed = find_fixed_vertices(self.mesh, self.regions, fixed)
        self.ground = ground
        self.contact = resolve_contact_law(contact)
        self.shown = extract_surface(self.mesh)
        self._shared = {name: tuple(names) for name, names in (shared or {}).items()}
        for name in self._shared:
            get_region(self.regions, name, "shared")
        self.material = resolve_material(material)
        self._specs = declare_specs(self._shared, self.contact if ground else None, self.material)
        self._nodes = freeze_array(self.mesh.tets.astype(np.int32))
        self._skin = freeze_array(self.shown.vertices[self.shown.faces].astype(np.int32))
        self._rest: dict[torch.dtype, TetRestShape] = {}

    @classmethod
    def example(cls) -> FemModel:
        """Return a small box that falls onto the ground within the example's steps."""
        return cls("box", size=(0.2, 0.2, 0.2), cells=(2, 2, 2))

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return self._specs

    @property
    def axes(self) -> Mapping[str, int]:
        return {"particles": len(self.mesh.vertices), "tets": len(self.mesh.tets)}

    @property
    def memory(self) -> tuple[MemorySpec, ...]:
        return () if self.material is None else self.material.memory

    def params(self, dtype: torch.dtype = torch.float32, *, batch: object = None, **values: object) -> Params:
        made = super().params(dtype, batch=batch, **values)
        if batch is not None:
            return made
        return choose_alternatives(made, (name for name, value in values.items() if value is not None))

    def initial_state(self, params: Params) -> State:
        count = len(self.mesh.vertices)
        own = torch.as_tensor(self.mesh.vertices, dtype=params.dtype)
        shape = params.get("start_shape", own)
        q = place_points(broadcast(shape, (count, 3)), params["position"], params["orientation"])
        u = compute_velocities(q, lambda: self.masses(params), params["velocity"], params["angular_velocity"])
        if self.fixed.any():
            u = torch.where(torch.from_numpy(self.fixed)[:, None], torch.zeros_like(u), u)
        return State(q, u)

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        tets = self._tetrahedra(params, control)
        law = particles(self.masses(params), params["gravity"], self.fixed, TouchingSkin(self._skin))
        floor = (ground_contact(params, len(self.mesh.vertices), contact=self.contact),) if self.ground else ()
        return Mechanics(law, (tets, *floor))

    def _tetrahedra(self, params: Params, control: Control) -> ElementTerm:
        """Return the forces of the material."""
        if self.material is not None:
            return self._material_tetrahedra(params, self._nodes, self._per_tet(params, "damping"))
        mu, lam = self.moduli(params)
        return tetrahedra(
            self._nodes,
            self.rest(params),
            shear_modulus=mu,
            lame_modulus=lam,
            damping=self._per_tet(params, "damping"),
            activation=self.activation(params, control),
        )

    def _material_tetrahedra(self, params: Params, nodes: NDArray[np.int32], damping: Tensor) -> ElementTerm:
        """Return the forces of a material with functions of its own on the corners ``nodes``."""
        assert self.material is not None
        values = {spec.name: self._per_tet(params, spec.name) for spec in self.material.specs}
        points = torch.as_tensor(self.mesh.vertices, dtype=params.dtype)
        inverse = rest_inverse(broadcast(params.get("rest_shape", points), points.shape), self.mesh.tets)
        return material_tetrahedra(nodes, inverse, self.rest(params).volume, self.material, values, damping)

    def suggested_dt(self, params: Params | None = None) -> float:
        """Return a step length [s] for explicit integrators, from the elasticity at the start and contact with the
        ground.

        Args:
            params: Parameters of the model; its defaults if None.
        """
        return suggest_explicit_step(self, params, self.contact if self.ground else None)

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        points = torch.from_numpy(self.shown.vertices)
        return Surface(trajectory.q[:, points], torch.from_numpy(self.shown.faces))

    def cauchy_stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Tensor:
        """Return the elastic stress in each tetrahedron, without damping.

        Args:
            trajectory: Saved states.
            params: Parameters.
            control: Values of driven parameters, one row per frame.

        Returns:
            Cauchy stress (frames, tets, 3, 3) [Pa].
        """
        if self.material is not None:
            return self._material_stress(trajectory, params)
        mu, lam = self.moduli(params)
        corners = trajectory.q[:, torch.from_numpy(self.mesh.tets)]
        return cauchy_stress(corners, self.rest(params), mu, lam, self.activation(params, control or Control()))

    def _material_stress(self, trajectory: Trajectory, params: Params) -> Tensor:
        """Return the Cauchy stress of a material: sum of -f x^T over an element's corners, by its present volume."""
        count = len(self.mesh.tets)
        own = np.arange(4 * count, dtype=np.int32).reshape(count, 4)
        zero = params["gravity"].new_zeros(3)
        term = self._material_tetrahedra(params, own, zero[0].expand(count))
        alone = Mechanics(particles(zero.new_ones(4 * count), zero), (term,))
        found = []
        for frame in range(len(trajectory)):
            x = trajectory.q[frame, torch.from_numpy(self.mesh.tets)]
            memory = {name: value[frame] for name, value in trajectory.memory.items()}
            state = State(x.reshape(-1, 3), torch.zeros_like(x).reshape(-1, 3), memory=memory)
            force = next(iter(alone.forces(state).values())).view_as(x)
            volume = torch.linalg.det(x[:, 1:] - x[:, :1]) / 6.0
            found.append(-torch.einsum("eci,ecj->eij", force, x) / volume[:, None, None])
        return torch.stack(found)

    def stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Stress:
        """Return the von Mises stress [Pa] at the vertices of the surface: the mean of the tetrahedra around each, by
        volume.
        """
        each = von_mises(self.cauchy_stress(trajectory, params, control)) * self.rest(params).volume
        count, tets = len(self.mesh.vertices), self.mesh.tets
        volume = assemble(self.rest(params).volume[:, None].expand(-1, 4), tets, count)
        total = torch.stack([assemble(row[:, None].expand(-1, 4), tets, count) for row in each])
        return Stress((total / volume)[:, torch.from_numpy(self.shown.vertices)])

    def texture(self, image: Tensor) -> Texture:
        """Return a texture that lays an image over the surface.

        Args:
            image: Image (height, width, 3).

        Returns:
            Texture for ``Surface.replace_appearance``.

        Raises:
            InputError: The mesh has no texture coordinates.
        """
        if self.shown.uv is None:
            raise InputError(f"{self.mesh.name} has no texture coordinates; use colours, or a file with vt lines or uv")
        uv_faces = None if self.shown.uv_faces is None else torch.from_numpy(self.shown.uv_faces)
        return Texture(image, torch.as_tensor(self.shown.uv, dtype=image.dtype), uv_faces)

    def energy(self, trajectory: Trajectory, params: Params) -> Energy:
        """Return the energies of every frame; activation is taken as constant.

        Args:
            trajectory: Saved states.
            params: Parameters.

        Returns:
            Energies (frames,) [J].

        Raises:
            InputError: The material is not neo-Hookean.
        """
        if self.material is not None:
            raise InputError("FemModel.energy: got a material that is not neo-Hookean; it has no elastic energy alone")
        mu, lam = self.moduli(params)
        mass = self.masses(params)
        corners = trajectory.q[:, torch.from_numpy(self.mesh.tets)]
        elastic = elastic_energy(corners, self.rest(params), mu, lam, self.activation(params, Control())[0])
        contact = torch.zeros_like(elastic[:, 0])
        if self.ground:
            normal = normalise_normal(params["ground_normal"])
            contact = contact_energy(trajectory.q, normal, params["ground_height"], params["contact_stiffness"])
        return Energy(
            kinetic=(0.5 * mass * trajectory.u.square().sum(dim=2)).sum(dim=1),
            elastic=elastic.sum(dim=1),
            gravitational=-(mass * (trajectory.q * params["gravity"]).sum(dim=2)).sum(dim=1),
            contact=contact,
        )

    def rest(self, params: Params) -> TetRestShape:
        """Return metric, inverse determinant and volume of every element at rest."""
        if "rest_shape" in params:
            points = broadcast(params["rest_shape"], self.mesh.vertices.shape)
            return rest_shape(points, self.mesh.tets)
        if params.dtype not in self._rest:
            with suspend_transforms():  # a tensor that belongs to a transform must not outlive it
                exact = rest_shape(torch.from_numpy(self.mesh.vertices), self.mesh.tets)
                made = TetRestShape(*(t.to(params.dtype) for t in (exact.metric, exact.inv_det, exact.volume)))
            self._rest[params.dtype] = made
        return self._rest[params.dtype]

    def masses(self, params: Params) -> Tensor:
        """Return the masses (particles,) [kg]: as given, or a quarter of each tetrahedron's mass to each of its
        corners.
        """
        count = len(self.mesh.vertices)
        if "mass" in params:
            return self._with_regions(params, "mass", broadcast(params["mass"], (count,)), particles=True)
        quarter = 0.25 * self._per_tet(params, "density") * self.rest(params).volume
        return assemble(quarter[:, None].expand(-1, 4), self.mesh.tets, count)

    def derived(self, params: Params) -> Mapping[str, Tensor]:
        return {"mass": self.masses(params)}

    def moduli(self, params: Params) -> tuple[Tensor, Tensor]:
        """Return shear and Lame modulus (tets,) [Pa], for either parametrisation of the material."""
        if "youngs_modulus" in params:
            return neo_hookean_moduli(self._per_tet(params, "youngs_modulus"), self._per_tet(params, "poisson_ratio"))
        return self._per_tet(params, "shear_modulus"), self._per_tet(params, "lame_modulus")

    def activation(self, params: Params, control: Control) -> Tensor:
        """Return the activation (1 or steps, tets) from constant parameters and controls, regions included."""
        count = len(self.mesh.tets)
        value = self._rows(params, control, "activation", count)
        for region, names in self._shared.items():
            own = f"activation_{region}"
            if "activation" in names and (own in params or own in control):
                inside = torch.from_numpy(self.regions[region].tets)
                value = torch.where(inside, self._rows(params, control, own, count), value)
        return value

    @staticmethod
    def _rows(params: Params, control: Control, name: str, count: int) -> Tensor:
        """Return the values (1 or steps, count) of a parameter or of its control."""
        if name not in control:
            return broadcast_read_only(params[name], (1, count))
        steps = control[name].shape[0]
        return broadcast_read_only(control[name].reshape(steps, -1), (steps, count))

    def _per_tet(self, params: Params, name: str) -> Tensor:
        """Return the values (tets,) of a parameter, regions included."""
        return self._with_regions(
            params, name, broadcast_read_only(params[name], (len(self.mesh.tets),)), particles=False
        )

    def _with_regions(self, params: Params, name: str, value: Tensor, *, particles: bool) -> Tensor:
        """Return ``value`` with the entries of regions that have their own value of this parameter replaced."""
        for region, names in self._shared.items():
            own = f"{name}_{region}"
            if name in names and own in params:
                found = self.regions[region]
                inside = torch.from_numpy(found.vertices if particles else found.tets)
                value = torch.where(inside, broadcast(params[own], value.shape), value)
        return value
