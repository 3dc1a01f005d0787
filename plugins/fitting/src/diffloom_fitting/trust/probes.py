"""Whether a linearisation holds as far as it is used: rounding, jumps of pixels and bends beside the fit's end."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.objective import Objective
from diffloom_fitting.trust.linearised import Linearised

PROBES = 4
ROUNDS = 3
SETTLED = 0.3  # of a deviation: a smaller excess changes it by less than a twentieth


def probed(objective: Objective, end: Linearised, root: Tensor, solve: Tensor) -> Tensor:
    """(n,): the part of the deviations, in scaled coordinates, that residuals beside ``z`` add to the slopes.

    A few simulations a deviation away show where the residuals are not what the slopes promise: pixels of a hard
    rasterizer switch, contact sets in at another step, single precision rounds. As a change of the estimate, that is
    an error of its own. Deviations that grow by it are probed again, as far as they then reach. root: (n, k), a root of
    the covariance in scaled coordinates. solve: (n, n), from J r to a step.
    """
    deviation = root.norm(dim=1)
    tiny = torch.finfo(deviation.dtype).tiny
    found = torch.zeros_like(deviation)
    generator = torch.Generator().manual_seed(0)
    for _ in range(ROUNDS):
        reach = (deviation.square() + found.square()).sqrt()
        moves = []
        for _ in range(PROBES):
            signs = torch.randint(0, 2, (root.shape[1],), generator=generator).to(root.dtype) * 2.0 - 1.0
            grown = torch.where(deviation > 0.0, reach / deviation.clamp(min=tiny), torch.ones_like(reach))
            step = (root @ signs) * grown
            try:
                fields = objective.residual_fields(end.z + step / end.size)
            except SimulationError:
                continue
            beside = torch.cat([field.reshape(-1) for field in fields])
            moves.append(solve @ (end.unit @ (beside - end.residuals - step @ end.unit)))
        if not moves:  # nothing beside it can be simulated: the deviations are those of a cliff
            return torch.as_tensor(reach)
        found = torch.stack(moves).square().mean(dim=0).sqrt()
        if bool((found <= SETTLED * reach).all()):
            break
    return torch.as_tensor(found)
