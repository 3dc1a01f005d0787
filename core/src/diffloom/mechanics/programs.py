"""Programs of mechanical systems, one per combination of law and terms."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import torch

from diffloom.mechanics.binding import Binding, Compiled
from diffloom.mechanics.glue import Glue

_PROGRAMS: dict[tuple[Any, ...], Any] = {}


def program_of(system: Compiled) -> Any:
    """The program that runs this kind of system; systems with the same functions share it."""
    key = _kind(system)
    if key not in _PROGRAMS:
        from diffloom.kernels import Program

        glue = Glue(system.law, system.elements, system.nodes)
        text = glue.text()
        parts = [system.law.name, *(t.name for t in system.elements), *(t.name for t in system.nodes)]
        mark = hashlib.sha256(text.encode()).hexdigest()[:6]
        _PROGRAMS[key] = Program.from_source(f"{'-'.join(parts)}-{mark}", text, glue.names())
    return _PROGRAMS[key]


def _kind(system: Compiled) -> tuple[Any, ...]:
    """All that the text of the glue and its names are made of."""
    law = system.law
    return (
        (law.name, law.dq, law.du, law.step, law.step_adjoint, len(law.arrays)),
        *((t.name, t.force, t.adjoint, len(t.constants), len(t.params), t.simd) for t in system.elements),
        *(
            (t.name, t.force, t.adjoint, len(t.constants), len(t.params), len(t.work))
            + (tuple(s.body for s in t.stages), tuple(s.body for s in t.adjoint_stages))
            for t in system.nodes
        ),
    )


def programs() -> list[Any]:
    """The programs of every installed model's example, with sample arguments: what the CUDA check compiles."""
    from diffloom.interfaces import Control
    from diffloom.mechanics.system import Mechanics
    from diffloom.plugins import get_model, models

    found = {}
    for name in models():
        model_type: Any = get_model(name)
        if not hasattr(model_type, "example"):
            continue
        model = model_type.example()
        dynamics = model.dynamics(model.params(), Control())
        if isinstance(dynamics, Mechanics):
            program = program_of(dynamics.compiled)
            program.samples = partial(samples, dynamics.compiled)
            found[program.name] = program
    return list(found.values())


def samples(system: Compiled, dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments for two steps of every schedule, zeros where values do not matter."""
    real = torch.float32 if dtype().itemsize == 4 else torch.float64
    binding = Binding(system, [t.detach().to(real) for t in system.tensors])
    law, grads = system.law, binding.gradients().args
    zeros = partial(torch.zeros, dtype=real)
    q, u = zeros(law.count, law.dq), zeros(law.count, law.du)
    many_q, many_u = zeros(3, law.count, law.dq), zeros(3, law.count, law.du)
    frames = (torch.zeros(3, dtype=torch.int32), many_q, many_u)
    rolled = (2, 0, 0.01, many_q, many_u)
    wide_q, wide_u = max(law.dq, 4), max(law.du, 4)
    pairs = (zeros(2, law.count, wide_q), zeros(2, law.count, wide_u), zeros(law.count, wide_u))
    back = (*rolled, *frames, *pairs)
    once = (0, 0.01, 0, q, u)
    given = {
        "rollout": (*rolled, *binding.common),
        "rollout_adjoint": (*back, *binding.common, *grads),
        "rollout_adjoint_with_force": (*back, *binding.common, *grads),
        "force": (*once, u, *binding.common),
        "force_adjoint": (*once, many_u, many_q, many_u, *binding.common, *grads),
        "step": (*once, u, q, u, binding.law),
        "step_adjoint": (*once, u, many_q, many_u, many_q, many_u, many_u, binding.law, grads[0]),
    }
    return {name: tuple(_host(value) for value in args) for name, args in given.items()}


def _host(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_host(entry) for entry in value)
    return value.numpy() if isinstance(value, torch.Tensor) else value
