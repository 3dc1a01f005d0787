"""Point masses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import InputError
from diffloom.transforms import concrete
from diffloom.validation import check_real
from diffloom_mechanics.node_sets import Motion, NodeSet

if TYPE_CHECKING:
    from diffloom_mechanics.contact.touching import TouchingSkin


def particles(
    mass: Tensor, gravity: Tensor, fixed: NDArray[np.bool_] | None = None, touches: TouchingSkin | None = None
) -> NodeSet:
    """Point masses.

    mass: (nodes,) [kg], positive; zero or infinite holds a particle too. gravity: (3,) or (nodes, 3) [m/s^2].
    fixed: (nodes,) particles that are held in place; they keep their start velocity as a value without moving.
    touches: the faces between them by which they touch other bodies of a world.
    """
    from diffloom_mechanics import particle_kernels as kernels

    check_real("mass", mass)
    check_real("gravity", gravity)
    if mass.dim() != 1:
        raise InputError(f"mass: got shape {tuple(mass.shape)}; expected (nodes,), one mass per particle")
    if fixed is not None and np.shape(fixed) != tuple(mass.shape):
        raise InputError(f"fixed: got shape {np.shape(fixed)}; expected {tuple(mass.shape)} flags, one per particle")
    pull = broadcast(gravity, (int(mass.shape[0]), 3))
    least, most = (bound.item() for bound in concrete(mass).aminmax()) if mass.numel() else (1.0, 1.0)
    if least > 0.0 and most < float("inf") and (fixed is None or not np.count_nonzero(fixed)):
        inverse = mass.reciprocal()
    else:
        if not least >= 0.0:
            raise InputError(f"mass: got {least:g} kg; expected masses of 0 (held) or more")
        free = (mass.detach() > 0) & torch.isfinite(mass.detach())
        if fixed is not None:
            free = free & ~torch.as_tensor(fixed, device=mass.device)
        inverse = torch.where(free, 1.0 / torch.where(free, mass, torch.ones_like(mass)), torch.zeros_like(mass))
        pull = torch.where(free[:, None], pull, torch.zeros_like(pull))
    return NodeSet(
        "particles",
        dq=3,
        du=3,
        acceleration=kernels.particle_acceleration,
        acceleration_adjoint=kernels.particle_acceleration_adjoint,
        arrays=(("inverse_mass", inverse), ("gravity", pull)),
        motion=Motion(
            kernels.particle_drift,
            kernels.particle_drift_adjoint,
            kernels.particle_rate,
            kernels.particle_rate_adjoint,
        ),
        force_needed_by=("inverse_mass",),
        touches=touches,
    )
