"""Programs of mechanical systems with sample arguments, for the check that compiles them for CUDA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from diffloom.interfaces import Control, Model
from diffloom.plugins import get_model, models
from diffloom_kernels import Program
from diffloom_mechanics.binding import Binding, CompiledSystem
from diffloom_mechanics.pipelines import SAMPLED, cotangents, states
from diffloom_mechanics.records import Clock, FrameRecord, StateCotangents, Steps
from diffloom_mechanics.schemes import PointCotangents, TableauPoints, moves, tableau
from diffloom_mechanics.system import Mechanics


def programs() -> list[Program]:
    """Return a program with sample arguments for the example of every installed model."""
    found = {}
    for name in models():
        model_type = get_model(name)
        if not isinstance(model_type, type):
            continue
        if not issubclass(model_type, Model) or model_type.example_settings is None:
            continue
        if (program := build_sample_program(model_type.example())) is not None:
            found[program.name] = program
    return list(found.values())


def build_sample_program(
    model: Model,
    name: str | None = None,
    pipelines: tuple[Any, ...] = SAMPLED,
    spills: Mapping[str, str] | None = None,
) -> Program | None:
    """Return the pipelines of a model's system with sample arguments.

    A plugin whose example leaves kernels out has a module ``programs`` that returns more of these.

    Args:
        model: The model.
        name: Name of the program; the system's label by default.
        pipelines: Pipelines to compile.
        spills: Reasons for register spills, as for ``Program``.

    Returns:
        The program, or None where PyTorch computes the forces.
    """
    dynamics = model.dynamics(model.params(), Control())
    if not isinstance(dynamics, Mechanics):
        return None
    system = dynamics.compiled

    def choose_samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
        found = samples(system, dtype)
        return {each.__name__: found[each.__name__] for each in pipelines if each.__name__ in found}

    return Program(name or system.label, pipelines, choose_samples, spills)


def samples(system: CompiledSystem, dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Return arguments for two steps of the pipelines, zeros where values do not matter."""
    real = torch.float32 if dtype().itemsize == 4 else torch.float64
    tensors = [t.detach().to(real) for t in system.tensors]
    binding = Binding(system, tensors)
    light = Binding(system, tensors, [False] * len(tensors))
    made = binding.gradients()
    like, grads, free, free_grads = tensors[0], made.record, binding.free.record, made.free.record
    steps, scheme = Steps(2, 0, 0.01), moves((1.0, 1.0))
    many, one, whole = states(system, like, 3, memory=True), states(system, like), states(system, like, memory=True)
    frames = FrameRecord(torch.zeros(3, dtype=torch.int32), many.q, many.u)
    adj = cotangents(system, like)
    clock = Clock(0, 0.0, 0.01, 0, 0.0)
    batch = StateCotangents(many.q, many.u, many.u)
    found: dict[str, tuple[Any, ...]] = {
        "split_rollout": (steps, scheme, many, (), binding.record),
        "split_rollout_adjoint": (steps, scheme, many, (), frames, adj, binding.record, grads),
        "force": (clock, whole.q, whole.u, whole.u, binding.record),
        "force_adjoint": (clock, whole.q, whole.u, batch, binding.record, grads),
        "make_move_under": (clock, scheme[0], one, one.u, one, free),
        "make_move_under_adjoint": (clock, scheme[0], one, one.u, batch, free, free_grads),
        "projection": (one.q, one.q, free),
        "projection_adjoint": (one.q, one.q, free),
    }
    if system.remembering:
        found["remember"] = (clock, whole.q, whole.u, whole.q, binding.record)
        found["remember_adjoint"] = (clock, whole.q, whole.u, adj, binding.record, grads)
    elif not light.force_matters and not system.has_stages:
        found["joined_rollout_adjoint"] = (steps, scheme, many, (), frames, adj, light.record, grads)
    if all(nodes.motion is None or nodes.motion.rate is not None for _, nodes in system.sets):
        # A scheme of third order with a weight of zero, as many schemes have.
        rates = tableau([[1 / 3], [0.0, 2 / 3]], [0.25, 0.0, 0.75])
        points, back = (
            TableauPoints((one,) * 2, (one,) * 3),
            PointCotangents(cotangents(system, like, memory=False), (one,) * 3),
        )
        found["tableau_rollout"] = (steps, rates, many, points, binding.record)
        found["rates_under"] = (one, one.u, one, free)
        found["rates_under_adjoint"] = (one, one.u, one, StateCotangents(one.q, one.u, one.u), free, free_grads)
        found["tableau_rollout_adjoint"] = (steps, rates, many, points, frames, adj, back, binding.record, grads)
    return found
