"""Step length of explicit schemes, from the elasticity of a system at its start and from contact that may begin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from diffloom.interfaces import Control, Model, Params, State
from diffloom_mechanics.contact.law import ContactLaw
from diffloom_mechanics.memories import pack_memory
from diffloom_mechanics.system import Mechanics

#: Suggested step relative to the longest stable one.
SAFETY = 0.5
ITERATIONS = 40  # power iterations
#: Displacement of nodes in differences of forces, relative to the extent of the scene.
NUDGE = 1e-6
LEAST_FALL = 0.05  # least height [m] from which a point is taken to fall


def suggest_explicit_step(
    model: Model, params: Params | None = None, ground: ContactLaw | None = None, lightest: float | None = None
) -> float:
    """Return half the stable step of an explicit scheme: 2 / w of the fastest elastic motion at the start, and that of
    contact with the ground.

    Args:
        model: Model whose dynamics is a ``Mechanics``.
        params: Its parameters; its defaults if None.
        ground: Contact law of the ground, of which ``params`` has the parameters; None for no ground.
        lightest: Smallest mass that touches the ground alone [kg]; None takes the lightest node.

    Returns:
        The step [s]; infinity if nothing limits it.

    Example:
        ``dt = suggest_explicit_step(model, params, model.contact)``
    """
    given = model.params(torch.float64) if params is None else params
    double = Params({name: value.detach().double().cpu() for name, value in given.items()}, torch.float64)
    with torch.no_grad():
        start = model.initial_state(double)
        system = model.dynamics(double, Control())
        assert isinstance(system, Mechanics)
        fastest = estimate_fastest_rate(system, start)
        touching = 0.0
        if ground is not None:
            mobility = _find_largest_inverse_mass(system) if lightest is None else 1.0 / lightest
            touching = estimate_ground_rate(ground, double, mobility, _estimate_impact_speed(start, double))
    limits = [SAFETY * 2.0 / fastest if fastest > 0.0 else math.inf, SAFETY / touching if touching > 0.0 else math.inf]
    return min(limits)


def estimate_ground_rate(law: ContactLaw, params: Mapping[str, Tensor], mobility: float, speed: float) -> float:
    """Return the fastest rate of contact with the ground.

    Args:
        law: The contact law.
        params: Its parameters, scalar or one per node.
        mobility: Acceleration of a touching point per force [1/kg].
        speed: Speed at which the contact begins [m/s].

    Returns:
        Rate [1/s].
    """
    resolved = law.resolve(params)
    values = {name: float(torch.as_tensor(resolved[name]).max()) for name in law.names}
    return max(law.rate(values, mobility, speed), values.get("friction_stiffness", 0.0) * mobility)


def _find_largest_inverse_mass(system: Mechanics) -> float:
    """Return the inverse mass [1/kg] of the lightest node; 0 if no node set has masses."""
    found = [float(v.max()) for nodes in system.sets.values() for name, v in nodes.arrays if name == "inverse_mass"]
    return max(found, default=0.0)


def _estimate_impact_speed(start: State, params: Mapping[str, Tensor]) -> float:
    """Return the speed [m/s] at which points may hit the ground: sqrt(v^2 + 2 g h) from the highest point."""
    points = [(q, u) for q, u in start.sets.values() if q.shape[1] == u.shape[1] == 3]
    pull = float(params["gravity"].reshape(-1, 3).norm(dim=1).max())
    if not points:
        rates = max(float(u.abs().max()) for _, u in start.sets.values())
        return rates + math.sqrt(2.0 * pull)
    normal = params["ground_normal"] / params["ground_normal"].norm()
    highest = max(float((q @ normal).max()) for q, _ in points) - float(params["ground_height"])
    moving = max(float(u.norm(dim=1).max()) for _, u in points)
    return math.sqrt(moving**2 + 2.0 * pull * max(highest, LEAST_FALL))


def estimate_fastest_rate(system: Mechanics, start: State) -> float:
    """Return the largest w [1/s] of motions q'' = -w^2 q and of decays u' = -w u near the start.

    Power iteration on the accelerations finds it, with damping as the explicit scheme evaluates it.

    Args:
        system: Node sets and forces.
        start: State near which the forces are evaluated.

    Returns:
        Rate [1/s]; 0 if no force depends on the state.
    """
    evaluation = system.evaluation([t.detach() for t in system.tensors], 1e-9)
    q, u = (tuple(pair[k].contiguous() for pair in start.sets.values()) for k in (0, 1))
    kept = tuple(pack_memory(system.compiled, start))

    def acceleration(q: tuple[Tensor, ...], u: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        q = (*q, *kept)
        return evaluation.rates(q, u, evaluation.force(0, q, u))[1]

    still = acceleration(q, u)
    size = max(float((x[:, :3] - x[:, :3].mean(dim=0)).norm(dim=1).max()) for x in q) or 1.0
    stiff = _iterate_power(lambda d: acceleration(tuple(map(_move_nodes, q, d)), u), still, NUDGE * size)
    damped = _iterate_power(
        lambda d: acceleration(q, tuple(a + b for a, b in zip(u, d, strict=True))), still, NUDGE * size
    )
    return max(math.sqrt(stiff), damped)


def _iterate_power(
    response: Callable[[tuple[Tensor, ...]], tuple[Tensor, ...]], still: tuple[Tensor, ...], length: float
) -> float:
    """Return the largest factor between a small change and that of the accelerations."""
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


def _move_nodes(q: Tensor, d: Tensor) -> Tensor:
    """Return nodes displaced by d (nodes, du); rigid bodies rotate by a small rotation too."""
    if q.shape[1] == d.shape[1]:
        return q + d
    if q.shape[1] != 7:
        return q
    w, vector, half = q[:, 3:4], q[:, 4:], 0.5 * d[:, 3:]
    turned_w = w - (half * vector).sum(dim=1, keepdim=True)
    turned = torch.cat([turned_w, vector + w * half + torch.linalg.cross(half, vector)], dim=1)
    return torch.cat([q[:, :3] + d[:, :3], turned / turned.norm(dim=1, keepdim=True)], dim=1)
