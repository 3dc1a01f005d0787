"""Point masses, and forces that any model of particles may use: springs, pushes in time windows, and controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast, broadcast_read_only
from diffloom.interfaces import InputError
from diffloom.transforms import unwrap_values
from diffloom.validation import as_whole_number, check_real, check_shape
from diffloom_mechanics.node_sets import NodeMotion, NodeSet
from diffloom_mechanics.terms import ElementTerm, NodeTerm

if TYPE_CHECKING:
    from diffloom_mechanics.node_sets import TouchingSkin


def particles(
    mass: Tensor, gravity: Tensor, fixed: NDArray[np.bool_] | None = None, touches: TouchingSkin | None = None
) -> NodeSet:
    """Return a node set of point masses.

    Args:
        mass: Masses (nodes,) [kg]; a particle of zero or infinite mass is held.
        gravity: Acceleration (3,) or (nodes, 3) [m/s^2].
        fixed: Flags (nodes,) of particles that are held in place. They keep their initial velocity as a value, without
            moving.
        touches: Triangles with which they touch the bodies of a world.

    Returns:
        Node set with q and u of width 3.

    Raises:
        InputError: A shape is wrong or a mass is negative.

    Example:
        ``Mechanics(particles(torch.ones(2), torch.tensor([0.0, -9.81, 0.0])))``
    """
    from diffloom_mechanics import particle_kernels as kernels

    check_real("mass", mass)
    check_real("gravity", gravity)
    if mass.dim() != 1:
        raise InputError(f"mass: got shape {tuple(mass.shape)}; expected (nodes,), one mass per particle")
    if fixed is not None and np.shape(fixed) != tuple(mass.shape):
        raise InputError(f"fixed: got shape {np.shape(fixed)}; expected {tuple(mass.shape)} flags, one per particle")
    pull = broadcast(gravity, (int(mass.shape[0]), 3))
    least, most = (bound.item() for bound in unwrap_values(mass).aminmax()) if mass.numel() else (1.0, 1.0)
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
        motion=NodeMotion(
            kernels.particle_drift,
            kernels.particle_drift_adjoint,
            kernels.particle_rate,
            kernels.particle_rate_adjoint,
        ),
        force_needed_by=("inverse_mass",),
        touches=touches,
    )


def springs(
    nodes: NDArray[np.int32],
    stiffness: Tensor,
    damping: Tensor,
    rest_length: Tensor,
    name: str = "springs",
    on: str | None = None,
) -> ElementTerm:
    """Return damped springs, f = k (L - L0) + c dL/dt along each spring. A spring of zero length exerts no force.

    Args:
        nodes: Ends (springs, 2), int32.
        stiffness: k [N/m], scalar or (springs,).
        damping: c [N s/m], scalar or (springs,).
        rest_length: L0 [m], scalar or (springs,).
        name: Name of the term.
        on: Name of the node set; None where there is one.

    Returns:
        The force term.
    """
    from diffloom_mechanics.particle_kernels import spring_force, spring_force_adjoint

    if nodes.ndim != 2 or nodes.shape[1] != 2:
        raise InputError(f"term {name!r}: nodes has shape {nodes.shape}; expected (springs, 2), the two ends of each")
    count = (len(nodes),)
    return ElementTerm(
        name,
        nodes,
        force=spring_force,
        adjoint=spring_force_adjoint,
        params=(
            ("stiffness", broadcast_read_only(stiffness, count)),
            ("damping", broadcast_read_only(damping, count)),
            ("rest_length", broadcast_read_only(rest_length, count)),
        ),
        on=on,
    )


def external_force(force: Tensor, name: str = "external_force", on: str | None = None) -> NodeTerm:
    """Return a given force on each particle.

    Args:
        force: Forces (1 or steps, particles, 3) [N], differentiable.
        name: Name of the term.
        on: Name of the node set; None where there is one.

    Returns:
        The force term.
    """
    check_shape("force", force, ("1 or steps", "particles", 3))
    from diffloom_mechanics.particle_kernels import applied_force, applied_force_adjoint

    return NodeTerm(
        name, force=applied_force, adjoint=applied_force_adjoint, params=(("force", force),), per_step=("force",), on=on
    )


@dataclass(frozen=True)
class Push:
    """Time window in which a force acts on one particle. An impulse J is the force J / (end - start).

    Args:
        node: Number of the particle.
        start: Start [s].
        end: End [s], after the start.
    """

    node: int
    start: float
    end: float

    def __post_init__(self) -> None:
        if not self.end > self.start:
            raise InputError(f"Push on node {self.node}: it starts at {self.start} s and ends at {self.end} s; "
                             "expected an end after the start")  # fmt: skip


def pushes(windows: Sequence[Push], force: Tensor, count: int, name: str = "pushes") -> NodeTerm:
    """Return external forces in time windows.

    A step that lies partly in a window takes that part of the force, so the impulse does not depend on the step length.

    Args:
        windows: One window per force.
        force: Forces (windows, 3) [N], differentiable.
        count: Number of particles.
        name: Name of the term.

    Returns:
        The force term.
    """
    from diffloom_mechanics.particle_kernels import window_force, window_force_adjoint

    nodes = np.array([as_whole_number("Push.node", w.node) for w in windows], dtype=np.int64)
    if len(nodes) and not 0 <= nodes.min() <= nodes.max() < count:
        raise InputError(f"pushes: got nodes {nodes.min()} to {nodes.max()}; expected 0 to {count - 1}")
    if tuple(force.shape) != (len(windows), 3):
        raise InputError(
            f"pushes: force has shape {tuple(force.shape)}; expected ({len(windows)}, 3), one row per window"
        )
    starts = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(nodes, minlength=count), out=starts[1:])
    order = np.argsort(nodes, kind="stable").astype(np.int32)
    real = np.float32 if force.dtype == torch.float32 else np.float64
    return NodeTerm(
        name,
        force=window_force,
        adjoint=window_force_adjoint,
        constants=(
            starts, order, np.array([w.start for w in windows], real), np.array([w.end for w in windows], real),
        ),
        params=(("force", force),),
        shared=("force",),
        count=count,
    )  # fmt: skip
