"""Springs as a term that any model of particles may use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import expanded
from diffloom.interfaces import InputError
from diffloom_mechanics.terms import ElementTerm


def springs(
    nodes: NDArray[np.int32],
    stiffness: Tensor,
    damping: Tensor,
    rest_length: Tensor,
    name: str = "springs",
    on: str | None = None,
) -> ElementTerm:
    """Damped springs.

    nodes: (springs, 2) int32. stiffness [N/m], damping [N s/m], rest_length [m]: scalar or (springs,).
    A spring of zero length pulls nowhere. on: the node set, where there are several.
    """
    from diffloom_mechanics.spring_kernels import spring_force, spring_force_adjoint

    if nodes.ndim != 2 or nodes.shape[1] != 2:
        raise InputError(f"term {name!r}: nodes has shape {nodes.shape}; expected (springs, 2), the two ends of each")
    count = (len(nodes),)
    return ElementTerm(
        name,
        nodes,
        force=spring_force,
        adjoint=spring_force_adjoint,
        params=(
            ("stiffness", expanded(stiffness, count)),
            ("damping", expanded(damping, count)),
            ("rest_length", expanded(rest_length, count)),
        ),
        on=on,
    )
