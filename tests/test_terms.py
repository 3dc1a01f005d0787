"""Every force term of every installed model, on every target: lanes, scalars, and CUDA in its simulator."""

from __future__ import annotations

import os
import pickle
import platform
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from diffloom.interfaces import Control
from diffloom.plugins import get_model, models
from diffloom_mechanics import ElementTerm, Mechanics
from diffloom_mechanics.pipelines import ROLLOUTS
from diffloom_mechanics.programs import samples

MECHANICAL = sorted(name for name in models() if get_model(name).example_settings is not None)


def example(name: str, dtype: torch.dtype) -> tuple[Mechanics, torch.Tensor, torch.Tensor]:
    """The system of a model's example, with its state shaken so that nothing is at rest."""
    model = get_model(name).example()
    params = model.params(dtype=dtype)
    state = model.initial_state(params)
    if len(state.sets) > 1:
        pytest.skip(f"{name} has several node sets, whose terms are tested where they come from")
    random = torch.Generator().manual_seed(5)
    q = state.q + 0.02 * torch.randn(state.q.shape, generator=random, dtype=torch.float64).to(dtype)
    u = state.u + 0.5 * torch.randn(state.u.shape, generator=random, dtype=torch.float64).to(dtype)
    return model.dynamics(params, Control()), q, u


def in_scalars(system: Mechanics) -> Mechanics:
    return replace(
        system, terms=tuple(replace(t, simd=False) if isinstance(t, ElementTerm) else t for t in system.terms)
    )


def answers(system: Mechanics, q: torch.Tensor, u: torch.Tensor) -> list[torch.Tensor]:
    at = system.evaluation(system.tensors, 1e-3)
    adj = torch.linspace(-1.0, 1.0, u.numel(), dtype=u.dtype).reshape(u.shape)
    (adj_q,), (adj_u,) = at.force_adjoint(0, (q,), (u,), (adj,))
    return [*at.force(0, (q,), (u,)), adj_q, adj_u, *(g for g in at.gradients() if g is not None)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", MECHANICAL)
def test_lanes_equal_scalars_bit_for_bit(name, dtype):
    system, q, u = example(name, dtype)
    if not isinstance(system, Mechanics):
        pytest.skip(f"{name} brings a step of its own, not force terms")
    if not any(isinstance(t, ElementTerm) and t.simd for t in system.terms):
        pytest.skip(f"{name} has no term that runs in lanes")
    lanes, scalars = answers(system, q, u), answers(in_scalars(system), q, u)
    assert all(torch.isfinite(a).all() for a in lanes)
    assert all(torch.equal(a, b) for a, b in zip(lanes, scalars, strict=True))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")
@pytest.mark.parametrize("name", MECHANICAL)
def test_rollouts_are_packed_arithmetic_without_reference_counts(name):
    model = get_model(name).example()
    system = model.dynamics(model.params(), Control())
    if not isinstance(system, Mechanics) or not any(isinstance(t, ElementTerm) and t.simd for t in system.terms):
        pytest.skip(f"{name} has no term that runs in lanes")
    arguments = samples(system.compiled, np.float32)["split_rollout"]
    text = ROLLOUTS.assembly("split_rollout", *arguments)
    packed = re.findall(r"\bv?(?:mul|add|sub|fn?m(?:add|sub)\d*)ps\b.*[xyz]mm", text)
    assert len(packed) > 30
    assert "NRT_incref" not in text


@pytest.mark.slow
def test_lanes_equal_scalars_on_a_plain_processor():
    """Repeat the test on code for a processor without AVX or fused multiply-add."""
    here = os.path.abspath(__file__)
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "bit_for_bit", here],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert "passed" in run.stdout


IN_SIMULATOR = """
import pickle, sys, torch
from pathlib import Path
from diffloom.interfaces import Control
from diffloom_mechanics import FrameCotangents, Segment, moves
from diffloom_mechanics.explicit import CompiledStepper

model = pickle.loads(Path(sys.argv[1]).read_bytes())
params = model.params(dtype=torch.float64)
system = model.dynamics(params, Control()).compiled
state = model.initial_state(params)
results = []
for target in ("serial", "cuda"):
    stepper = CompiledStepper(system, moves((1.0, 1.0)), system.tensors, 1e-3, [True] * len(system.tensors), target)
    q, u = ([torch.zeros(3, *pair[k].shape, dtype=torch.float64) for pair in state.sets.values()] for k in (0, 1))
    for rows, others, (start, speed) in zip(q, u, state.sets.values()):
        rows[0], others[0] = start, speed - 0.3
    segment = Segment(0, tuple(q), tuple(u))
    stepper.advance(segment)
    seen = [tuple(rows[:1] + 1.0 for rows in each) for each in (q, u)]
    frames = FrameCotangents(torch.tensor([-1, 0, -1], dtype=torch.int32), *seen)
    adj_q, adj_u = ([torch.ones_like(rows[0]) for rows in each] for each in (q, u))
    stepper.advance_adjoint(segment, frames, tuple(adj_q), tuple(adj_u))
    results.append([*q, *u, *adj_q, *adj_u, *stepper.gradients()])
assert all(torch.isfinite(a).all() for a in results[0])
assert all(torch.equal(a, b) for a, b in zip(*results)), "CUDA and CPU differ"
print("equal", len(results[0]))
"""


@pytest.mark.parametrize("name", MECHANICAL)
def test_cuda_kernels_agree_in_the_simulator(name, tmp_path):
    model = get_model(name).example()
    if not isinstance(model.dynamics(model.params(), Control()), Mechanics):
        pytest.skip(f"{name} brings a step of its own, not force terms")
    # With what its dynamics have found once, such as a mesh's distances: interpreted, that takes a minute.
    file = tmp_path / "model.pickle"
    file.write_bytes(pickle.dumps(model))
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", IN_SIMULATOR, str(file)], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.startswith("equal")
