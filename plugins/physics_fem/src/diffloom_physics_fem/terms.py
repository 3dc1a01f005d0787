"""Neo-Hookean tetrahedra as a term that any model of particles may use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast_read_only
from diffloom.transforms import is_mapped, needs_gradient
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
    """Elastic and damping forces of tetrahedra.

    nodes: (tets, 4) int32. rest: their rest shape; its gradient is computed only when it is asked for.
    shear_modulus, lame_modulus [Pa], damping [Pa s]: scalar or (tets,). activation: relative growth of the rest
    volume, scalar, (tets,), or (steps, tets), one row per step.
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
    # What differs from scene to scene is no constant.
    if any(needs_gradient(t) or is_mapped(t) for t in (rest.metric, rest.inv_det)):
        fitted = (("metric", rest.metric), ("inv_det", rest.inv_det))
        return ElementTerm(
            name, nodes, tet_force, tet_force_adjoint_rest, params=(*fitted, *material), per_step=("activation",)
        )
    constants = (rest.metric.detach().cpu().numpy(), rest.inv_det.detach().cpu().numpy())
    return ElementTerm(
        name, nodes, tet_force, tet_force_adjoint, constants=constants, params=material, per_step=("activation",)
    )
