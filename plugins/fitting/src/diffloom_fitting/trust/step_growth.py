"""Whether a motion is unstable under its steps: whether small changes of a state flip and grow from step to step."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import NoGradient, Params, SimulationError, State, Trajectory
from diffloom_fitting.scene import Scene

#: States that are looked at, and how many steps each change is followed.
STATES, STEPS = 12, 40
#: How much a change grows in all and, at least, with each step: a flip that only lasts is none of ours. A change that
#: has become ENOUGH times as large is followed no further: it may not be small any more.
IN_ALL, EACH, ENOUGH = 10.0, 1.05, 1e3


def growth_of_changes(scene: Scene, values: Mapping[str, Tensor]) -> tuple[float, float] | None:
    """When [s] small changes of the motion flip sign and grow with every step, and by which factor; None if never.

    An explicit scheme whose step is too long for some part of a system multiplies it by a number below -1 every step;
    no motion of a body does that. So this tells a step that is too long from motion that is sensitive by nature.
    """
    if len(scene.control) or scene.policy is not None or any(name.startswith("control.") for name in values):
        return None
    save = sorted({round(scene.steps * k / STATES) for k in range(STATES + 1)})[:-1]
    worst: tuple[float, float] | None = None
    try:
        with torch.no_grad():
            path, params = scene.simulate(values, save, NoGradient())
            for k in range(len(path)):
                factor = _factor(scene, params, path[k])
                if factor > EACH and (worst is None or factor > worst[1]):
                    worst = float(path.times[k]), factor
    except SimulationError:
        return None  # who simulates it next is told why
    return worst


def _factor(scene: Scene, params: Params, start: State) -> float:
    """By what a change of a state is multiplied in a step in which it flips; 0 where it does not grow so."""
    random = torch.Generator().manual_seed(0)
    size = 1e-7 if params.dtype == torch.float64 else 1e-4
    u = {name: u + size * torch.randn(u.shape, generator=random, dtype=u.dtype) for name, (_, u) in start.sets.items()}
    q = {name: q for name, (q, _) in start.sets.items()}
    base, changed = _followed(scene, params, start), _followed(scene, params, State(q, u))
    change = changed - base
    lengths = change.norm(dim=1)
    large = (lengths > ENOUGH * lengths[0]).nonzero()
    end = int(large[0]) if len(large) else STEPS
    before, last = change[end - 1], change[end]
    if not float(lengths[end]) > IN_ALL * float(lengths[0]):
        return 0.0
    return -float((last * before).sum() / before.square().sum())


def _followed(scene: Scene, params: Params, start: State) -> Tensor:
    """(steps, velocities) after ``start``."""
    path: Trajectory = simulate(
        scene.model, params, dt=scene.dt, steps=STEPS, integrator=scene.integrator,
        gradient=NoGradient(), state=start,
    )  # fmt: skip
    return torch.cat([u.reshape(len(path), -1) for _, u in path.sets.values()], dim=1)
