"""Neo-Hookean tetrahedra as a term for any model of particles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast_read_only
from diffloom.transforms import is_mapped, needs_gradient, unwrap_values
from diffloom_mechanics import ElementTerm
from diffloom_physics_fem.elasticity import TetRestShape


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
    constants = tuple(unwrap_values(t).cpu().numpy() for t in (rest.metric, rest.inv_det))
    return ElementTerm(
        name, nodes, tet_force, tet_force_adjoint, constants=constants, params=material, per_step=("activation",)
    )
