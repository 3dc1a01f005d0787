"""How long a step may be: by the elasticity of what is there at the start, and by the contacts that may come."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import Control, Params, State
from diffloom_mechanics import Mechanics
from diffloom_physics_world.contact_rates import contact_rate

if TYPE_CHECKING:
    from diffloom_physics_world.model import World

#: Part of the longest stable step that is suggested, and how often the fastest motion is iterated.
SAFETY, ITERATIONS = 0.5, 40
#: Parts of the extent by which nodes are moved to see how forces change.
NUDGE = 1e-6


def suggested_step(world: World, params: Params) -> float:
    """Half of what an explicit scheme takes: 2 / w of the fastest elastic motion, and what every contact asks for."""
    double = Params({name: value.detach().double() for name, value in params.items()}, torch.float64)
    with torch.no_grad():
        start = world.initial_state(double)
        system = world.dynamics(double, Control())
        fastest = fastest_rate(system, start)
        rates = [contact_rate(world, contact, double, system, start) for contact in world.contacts]
    own = [
        float(suggest(body.params(double, torch.float64)))
        for body in world.bodies
        if (suggest := getattr(body.model, "suggested_dt", None)) is not None
    ]
    limits = [SAFETY * 2.0 / fastest if fastest > 0.0 else math.inf, *own]
    return min([*limits, *(SAFETY / rate for rate in rates if rate > 0.0)])


def fastest_rate(system: Mechanics, start: State) -> float:
    """The largest w [1/s] of motion q'' = -w^2 q and of decay u' = -w u near the start, by power iteration on
    accelerations; damping counts as the explicit scheme sees it."""
    evaluation = system.evaluation([t.detach() for t in system.tensors], 1e-9)
    q, u = (tuple(pair[k].contiguous() for pair in start.sets.values()) for k in (0, 1))

    def acceleration(q: tuple[Tensor, ...], u: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return evaluation.rates(q, u, evaluation.force(0, q, u))[1]

    still = acceleration(q, u)
    size = max(float((x[:, :3] - x[:, :3].mean(dim=0)).norm(dim=1).max()) for x in q) or 1.0
    stiff = _iterated(lambda d: acceleration(tuple(map(_moved, q, d)), u), still, NUDGE * size)
    damped = _iterated(lambda d: acceleration(q, tuple(a + b for a, b in zip(u, d, strict=True))), still, NUDGE * size)
    return max(math.sqrt(stiff), damped)


def _iterated(
    response: Callable[[tuple[Tensor, ...]], tuple[Tensor, ...]], still: tuple[Tensor, ...], length: float
) -> float:
    """The largest factor by which accelerations follow a small change, per unit of change."""
    random = torch.Generator().manual_seed(0)
    d = tuple(torch.randn(a.shape, generator=random, dtype=a.dtype) for a in still)
    factor = 0.0
    for _ in range(ITERATIONS):
        norm = math.sqrt(sum(float(x.square().sum()) for x in d))
        if not norm > 0.0:
            return 0.0
        d = tuple(x * (length / norm) for x in d)
        changed = response(d)
        d = tuple(a - b for a, b in zip(changed, still, strict=True))
        factor = math.sqrt(sum(float(x.square().sum()) for x in d)) / length
    return factor


def _moved(q: Tensor, d: Tensor) -> Tensor:
    """Nodes moved by d (nodes, du): places; rigid bodies turn too, by a small rotation."""
    if q.shape[1] == d.shape[1]:
        return q + d
    if q.shape[1] != 7:
        return q
    w, vector, half = q[:, 3:4], q[:, 4:], 0.5 * d[:, 3:]
    turned_w = w - (half * vector).sum(dim=1, keepdim=True)
    turned = torch.cat([turned_w, vector + w * half + torch.linalg.cross(half, vector)], dim=1)
    return torch.cat([q[:, :3] + d[:, :3], turned / turned.norm(dim=1, keepdim=True)], dim=1)
