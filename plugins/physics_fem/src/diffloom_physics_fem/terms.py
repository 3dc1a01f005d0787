"""Tetrahedra as a term for any model of particles: neo-Hookean, or of a material with functions of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast, broadcast_read_only
from diffloom.transforms import is_mapped, needs_gradient, suspend_transforms, unwrap_values
from diffloom_mechanics import ElementTerm
from diffloom_physics_fem.elasticity import TetRestShape
from diffloom_physics_fem.materials import SolidMaterial


def tetrahedra(
    nodes: NDArray[np.int32],
    rest: TetRestShape,
    *,
    shear_modulus: Tensor,
    lame_modulus: Tensor,
    damping: Tensor,
    activation: Tensor,
    name: str = "tets",
) -> ElementTerm:
    """Return the elastic and damping forces of tetrahedra.

    Args:
        nodes: Corners (tets, 4), int32.
        rest: Rest shape; its gradient is computed only when it is asked for.
        shear_modulus: Shear modulus [Pa], scalar or (tets,).
        lame_modulus: Lame modulus [Pa], scalar or (tets,).
        damping: Damping [Pa s], scalar or (tets,).
        activation: Relative growth of the rest volume: scalar, (tets,), or (steps, tets) with one row per step.
        name: Name of the term.

    Returns:
        The force term.
    """
    from diffloom_physics_fem.kernels import tet_force, tet_force_adjoint, tet_force_adjoint_rest

    count = len(nodes)
    rows = activation.shape[0] if activation.dim() == 2 else 1
    material = (
        ("shear_modulus", broadcast_read_only(shear_modulus, (count,))),
        ("lame_modulus", broadcast_read_only(lame_modulus, (count,))),
        ("damping", broadcast_read_only(damping, (count,))),
        ("activation", broadcast_read_only(activation, (rows, count))),
    )
    # Values that differ from scene to scene cannot be constants.
    if any(needs_gradient(t) or is_mapped(t) for t in (rest.metric, rest.inv_det)):
        fitted = (("metric", rest.metric), ("inv_det", rest.inv_det))
        return ElementTerm(
            name, nodes, tet_force, tet_force_adjoint_rest, params=(*fitted, *material), per_step=("activation",)
        )
    constants = _as_constants((rest.metric, rest.inv_det))
    return ElementTerm(
        name, nodes, tet_force, tet_force_adjoint, constants=constants, params=material, per_step=("activation",)
    )


def material_tetrahedra(
    nodes: NDArray[np.int32],
    inverse: Tensor,
    volume: Tensor,
    material: SolidMaterial,
    params: Mapping[str, Tensor],
    damping: Tensor,
    name: str = "tets",
) -> ElementTerm:
    """Return the forces of tetrahedra of a material, and the memory that it has.

    Args:
        nodes: Corners (tets, 4), int32.
        inverse: Inverse of the edges at rest (tets, 9), see ``rest_inverse``.
        volume: Volume at rest (tets,) [m^3].
        material: The material.
        params: Its parameters by name, scalar or (tets,).
        damping: Damping [Pa s], scalar or (tets,).
        name: Name of the term.

    Returns:
        The force term; its adjoints are derived.
    """
    from diffloom_physics_fem import solid_kernels as kernels

    count = len(nodes)
    columns = [broadcast(material.values(s.name, params[s.name]), (count,)) for s in material.specs]
    own = (("material", torch.stack(columns, dim=1)), ("damping", broadcast_read_only(damping, (count,))))
    rest = (("rest", inverse), ("volume", volume))
    fitted = any(needs_gradient(t) or is_mapped(t) for _, t in rest)
    stress = material.stress or kernels.stress_of_energy(material.energy, len(material.specs))
    update = kernels.make_update(material.update, len(material.specs), material.width) if material.memory else None
    return ElementTerm(
        name, nodes, kernels.make_force(stress, len(material.specs), material.width),
        constants=() if fitted else _as_constants(t for _, t in rest),
        params=(*rest, *own) if fitted else own, simd=False, memory=material.memory, update=update,
    )  # fmt: skip


def _as_constants(tensors: Iterable[Tensor]) -> tuple[NDArray[Any], ...]:
    """Return the values of tensors, also inside a transform of torch.func."""
    with suspend_transforms():
        return tuple(unwrap_values(t).cpu().numpy() for t in tensors)
