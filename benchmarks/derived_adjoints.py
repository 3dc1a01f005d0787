"""Time of the backward pass of a step with derived adjoints, beside hand-written ones, on one core.

    python benchmarks/derived_adjoints.py

Where an adjoint cannot be derived, the hand-written one stays; the table says how many were replaced.
"""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from diffloom import get_integrator
from diffloom.interfaces import Control, State, StoreAll
from diffloom.plugins import get_model
from diffloom_kernels import set_num_threads
from diffloom_kernels.derive import UnderivableError
from diffloom_mechanics import Mechanics
from diffloom_mechanics.derived_adjoints import complete_nodes, complete_term

STEPS, REPEATS = 200, 7


def derived(system: Mechanics) -> tuple[Mechanics, int]:
    """Return a system whose adjoints are derived where they can be, and the number of terms and sets changed."""
    changed, sets = 0, dict(system.sets)
    for name, nodes in sets.items():
        motion = nodes.motion
        if motion is not None:
            none = {key: None for key in vars(motion) if key.endswith("_adjoint")}
            motion = replace(motion, **none)
        try:
            sets[name] = complete_nodes(replace(nodes, acceleration_adjoint=None, motion=motion))
            changed += 1
        except UnderivableError:
            pass
    terms = []
    for term in system.terms:
        try:
            terms.append(complete_term(replace(term, adjoint=None), sets))
            changed += 1
        except UnderivableError:
            terms.append(term)
    return Mechanics(sets if len(sets) > 1 else next(iter(sets.values())), tuple(terms)), changed


def seconds(system: Mechanics, start: State, dt: float) -> tuple[float, float]:
    """Return the least times of a forward and of a backward step [us]."""
    best = [float("inf")] * 2
    tensors = [t.requires_grad_() for t in system.tensors]
    run = get_integrator("semi_implicit")(target="serial").rollout
    for _ in range(REPEATS):
        begin = time.perf_counter()
        path = run(system, start, dt=dt, steps=STEPS, save=(STEPS,), gradient=StoreAll())
        middle = time.perf_counter()
        torch.autograd.grad(path.q.square().sum() + path.u.square().sum(), tensors, allow_unused=True)
        times = (middle - begin, time.perf_counter() - middle)
        best = [min(a, b) for a, b in zip(best, times, strict=True)]
    return best[0] / STEPS * 1e6, best[1] / STEPS * 1e6


def models():
    """Yield names, models and parameter values."""
    yield "springs, the example", get_model("springs").example(), {}
    yield "fem, 10 x 10 x 10 cells", get_model("fem")("box", cells=(10, 10, 10), ground=True), {}
    yield "cloth, 24 x 24 cells", get_model("cloth")({"shape": "grid", "cells": [24, 24]}), {}
    yield "rigid, a box", get_model("rigid")([{"shape": "box", "position": [0.0, 1.0, 0.0]}], collisions=False), {}


def main() -> None:
    """Print the table."""
    set_num_threads(1)
    print(
        "| model | changed | forward [us] | backward, by hand [us] | derived [us] | ratio |\n|---|---|---|---|---|---|"
    )
    for name, model, values in models():
        params = model.params(torch.float64, **values)
        start = model.initial_state(params)
        by_hand = model.dynamics(params, Control())
        other, changed = derived(by_hand)
        forward, back = seconds(by_hand, start, 1e-4)
        _, made = seconds(other, start, 1e-4)
        print(f"| {name} | {changed} | {forward:.1f} | {back:.1f} | {made:.1f} | {made / back:.2f} |", flush=True)


if __name__ == "__main__":
    main()
