"""Force terms of a thin shell, for any model of particles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast_read_only
from diffloom.transforms import needs_gradient, unwrap_values
from diffloom_mechanics import ElementTerm

Elements = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Elasticity:
    """Membrane material of the faces: scalars or one value per face.

    Args:
        shear_modulus: mu [N/m].
        lame_modulus: lam [N/m].
        damping: Viscosity [N s/m].
        activation: Growth of the rest area relative to it, (1 or steps, faces).
    """

    shear_modulus: Tensor
    lame_modulus: Tensor
    damping: Tensor
    activation: Tensor


@dataclass(frozen=True)
class AirCoefficients:
    """Coefficients of the air around the faces.

    Args:
        drag: Drag [kg/m^3], a scalar or one per face.
        lift: Lift [kg/m^3], a scalar or one per face.
        wind: Velocity of the air (1 or steps, faces, 3) [m/s].
    """

    drag: Tensor
    lift: Tensor
    wind: Tensor


def pack_elements(elements: Elements) -> NDArray[np.int32]:
    """Return ``elements`` (E, corners) as a term's nodes.

    A contiguous int32 array is returned itself, so that rollouts recognise it (see
    ``diffloom_mechanics.freeze_array``).
    """
    return np.ascontiguousarray(elements, dtype=np.int32)


def build_face_term(
    faces: Elements, rest_edges: Tensor, rest_area: Tensor, material: Elasticity, air: AirCoefficients | None = None
) -> ElementTerm:
    """Return the term of the in-plane forces of triangles, and of the air if given.

    Args:
        faces: Triangles (F, 3).
        rest_edges: Inverse rest edges, as in SheetRestShape.
        rest_area: Rest areas [m^2].
        material: Elasticity.
        air: Air, or None.
    """
    from diffloom_physics_cloth import face_kernels as kernels

    shared = _elastic_params(rest_edges, rest_area, material)
    nodes = pack_elements(faces)
    if air is None:
        return ElementTerm(
            "faces", nodes, kernels.face_force, kernels.face_force_adjoint, params=shared, per_step=("activation",)
        )
    count = len(faces)
    wind = broadcast_read_only(air.wind, (air.wind.shape[0], count, 3)).unbind(dim=2)
    names = ("wind_x", "wind_y", "wind_z")
    return ElementTerm(
        "airy_faces",
        nodes,
        kernels.airy_face_force,
        kernels.airy_face_force_adjoint,
        params=(
            *shared,
            ("drag", broadcast_read_only(air.drag, (count,))),
            ("lift", broadcast_read_only(air.lift, (count,))),
            *zip(names, (w.contiguous() for w in wind), strict=True),
        ),
        per_step=("activation", *names),
    )


def build_planar_face_term(
    faces: Elements, normal: NDArray[np.float64], rest_edges: Tensor, rest_area: Tensor, material: Elasticity
) -> ElementTerm:
    """Return the term of the in-plane forces of triangles that stay in a plane, defined through inversion.

    Args:
        faces: Triangles (F, 3).
        normal: Normal of the plane (3,).
        rest_edges: Inverse rest edges, as in SheetRestShape.
        rest_area: Rest areas [m^2].
        material: Elasticity.
    """
    from diffloom_physics_cloth import planar_kernels as kernels

    return ElementTerm(
        "planar_faces",
        pack_elements(faces),
        kernels.planar_face_force,
        kernels.planar_face_force_adjoint,
        constants=(np.tile(normal, (len(faces), 1)),),
        params=_elastic_params(rest_edges, rest_area, material),
        per_step=("activation",),
    )


def _elastic_params(rest_edges: Tensor, rest_area: Tensor, material: Elasticity) -> tuple[tuple[str, Tensor], ...]:
    """Return the kernels' parameters; moduli come multiplied by area, so the gradient by area follows from the
    product.
    """
    count = (rest_area.shape[0],)
    return (
        ("rest_edges", rest_edges),
        ("shear_modulus", broadcast_read_only(material.shear_modulus, count) * rest_area),
        ("lame_modulus", broadcast_read_only(material.lame_modulus, count) * rest_area),
        ("damping", broadcast_read_only(material.damping, count) * rest_area),
        ("activation", broadcast_read_only(material.activation, (material.activation.shape[0], *count))),
    )


def build_hinge_term(
    hinges: Elements, weight: Tensor, stiffness: Tensor, damping: Tensor, rest_angle: Tensor, activation: Tensor
) -> ElementTerm:
    """Return the term of bending across interior edges.

    Args:
        hinges: Corners (H, 4).
        weight: Weights (H,), as in SheetRestShape.
        stiffness: Stiffness [N m], a scalar or (H,).
        damping: Damping [N m s], a scalar or (H,).
        rest_angle: Rest angle [rad], a scalar or (H,).
        activation: Angle [rad] (1 or steps, H) added to the angle, so that a positive one bends the sheet forwards.
    """
    from diffloom_physics_cloth import hinge_kernels as kernels

    count = (len(hinges),)
    bend = (
        ("rest_angle", broadcast_read_only(rest_angle, count)),
        ("activation", broadcast_read_only(activation, (activation.shape[0], *count))),
    )
    stiff = ("stiffness", broadcast_read_only(stiffness, count) * weight)
    nodes = pack_elements(hinges)
    if not needs_gradient(damping) and not bool(unwrap_values(damping).any()):
        return ElementTerm(
            "undamped_hinges",
            nodes,
            kernels.undamped_hinge_force,
            kernels.undamped_hinge_force_adjoint,
            params=(stiff, *bend),
            per_step=("activation",),
        )
    return ElementTerm(
        "hinges",
        nodes,
        kernels.hinge_force,
        kernels.hinge_force_adjoint,
        params=(stiff, ("damping", broadcast_read_only(damping, count) * weight), *bend),
        per_step=("activation",),
    )


def build_anchor_term(vertices: Elements, place: Tensor, stiffness: Tensor, damping: Tensor) -> ElementTerm:
    """Return the term of springs of zero length from vertices to points.

    Args:
        vertices: Vertices (A, 1).
        place: Points (A, 3) [m].
        stiffness: Stiffness [N/m], a scalar or (A,).
        damping: Damping [N s/m], a scalar or (A,).
    """
    from diffloom_physics_cloth.anchor_kernels import anchor_force, anchor_force_adjoint

    count = (len(vertices),)
    return ElementTerm(
        "anchors",
        pack_elements(vertices),
        anchor_force,
        anchor_force_adjoint,
        params=(
            ("place", broadcast_read_only(place, (*count, 3))),
            ("stiffness", broadcast_read_only(stiffness, count)),
            ("damping", broadcast_read_only(damping, count)),
        ),
    )
