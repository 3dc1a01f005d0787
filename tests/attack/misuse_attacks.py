"""Misuse of the API: wrong shapes, types and numbers, arrays changed behind our back. Each in a process of its own."""

from __future__ import annotations

import math

import numpy as np
import torch
from tape import Tape

from diffloom import simulate
from diffloom.interfaces import Control, InputError, SimulationError, State, StoreAll
from diffloom.plugins import get_model
from diffloom_mechanics import (
    BackwardEuler,
    Mechanics,
    Push,
    SemiImplicitEuler,
    external_force,
    particles,
    pushes,
    springs,
)
from diffloom_mechanics.contact import ground, make_contact_specs

D = torch.float64
SIZES = (4, 0, 1, 2, 3, 5, 64, 4000)
#: Most numbers that a drawn tensor holds: an attack that exhausts memory alone shows nothing.
LARGEST = 10**7


def tensor(tape: Tape, *shape: int) -> torch.Tensor:
    """A tensor of this shape or another, of this kind or another, with an unexpected layout."""
    if tape.unit() > 0.7:
        drawn = tuple(tape.choice(SIZES) for _ in range(tape.whole(0, 4)))
        shape = drawn if math.prod(drawn) <= LARGEST else drawn[:1]
    made = torch.rand(shape, dtype=D, generator=torch.Generator().manual_seed(tape.seed()))
    kind = tape.choice(["plain"] * 12 + ["strided", "expanded", "float32", "int", "nan", "bool", "complex", "sparse"])
    if kind == "strided" and made.dim():
        return torch.stack([made, made], dim=-1)[..., 0]
    if kind == "expanded" and made.dim():
        return made[:1].expand(made.shape) if made.shape[0] else made
    if kind == "nan":
        return made * float("nan")
    if kind == "sparse" and made.dim():
        return made.to_sparse()
    kinds = {"float32": torch.float32, "int": torch.int64, "bool": torch.bool, "complex": torch.complex128}
    return made.to(kinds[kind]) if kind in kinds else made


def indices(tape: Tape, count: int, rows: int, columns: int) -> np.ndarray:
    """Indices that may lie beside what they number, in arrays that may be written to later."""
    random = np.random.default_rng(tape.seed())
    made = random.integers(0, max(count, 1), (rows, tape.choice([columns] * 6 + [0, 1, 3, 9])))
    made = made.astype(tape.choice([np.int32] * 6 + [np.int64, np.float64, np.uint8]))
    if tape.unit() > 0.7 and made.size:
        made.flat[0] = np.array(tape.choice([count, count + 100, 2**30, 200])).astype(made.dtype)
    return made


def terms(tape: Tape) -> str:
    """Terms put together at random, run and differentiated."""
    count = tape.choice([4, 1, 2, 64])
    made, pairs = [], indices(tape, count, tape.whole(0, 6), 2)
    try:
        for kind in tape.some(["springs", "external_force", "pushes", "ground"], 4):
            if kind == "springs":
                made.append(springs(pairs, tensor(tape), tensor(tape), tensor(tape)))
            elif kind == "external_force":
                made.append(external_force(tensor(tape, tape.choice([1, 3, 0, 2]), count, 3)))
            elif kind == "pushes":
                window = Push(tape.choice([0, count, -1, 2**31, 1.5]), 0.0, tape.choice([1.0, float("nan"), -1.0]))
                made.append(pushes([window], tensor(tape, 1, 3), tape.choice([count, 2, 4000])))
            else:
                given = {
                    s.name: torch.as_tensor(s.default, dtype=D) for s in make_contact_specs() if s.default is not None
                }
                made.append(ground(given, tape.choice([count, 2, 4000])))
        mass = tensor(tape, count)
        leaf = mass.requires_grad_(True) if mass.dtype == D and mass.layout == torch.strided else mass
        system = Mechanics(particles(leaf, tensor(tape, 3)), tuple(made))
        if tape.unit() > 0.8 and pairs.size and pairs.dtype == np.int32:
            pairs[...] = 2**30  # behind our back
        state = State(tensor(tape, count, 3), tensor(tape, count, 3))
        scheme = tape.choice([SemiImplicitEuler(), BackwardEuler()])
        dt = tape.choice([0.01] * 8 + [1, True, None, "a", torch.tensor(0.1), np.float32(0.1), 0.0, float("nan")])
        found = scheme.rollout(system, state, dt=dt, steps=3, save=(1, 3), gradient=StoreAll())
        assert bool(torch.isfinite(found.q).all()), "states not finite"
        if found.q.requires_grad:
            found.q.sum().backward()
    except (InputError, SimulationError) as error:
        return f"refused: {str(error)[:80]}"
    return "ran"


def rollouts(tape: Tape) -> str:
    """A sound model, called in an unsound way."""
    model = get_model("springs").example()
    params = model.params(D)
    start = model.initial_state(params)
    whole = [1, 0, 2, -1, 2.5, 2**40, True, None, "3"]
    try:
        given = {
            "dt": tape.choice([1e-3, 1, "1", None, -1.0, 1e400]),
            "steps": tape.choice(whole),
            "integrator": tape.choice([None, "semi_implicit", "nobody", 3]),
        }
        if tape.unit() > 0.5:
            given["save"] = tape.choice([(1,), (), (0,), (5,), (1, 1), (-1,), (2**35,), ("a",), (1.5,), 3])
        if tape.unit() > 0.5:
            given["state"] = tape.choice([start, State(tensor(tape, 9, 3), tensor(tape, 9, 3))])
        if tape.unit() > 0.7:
            name = tape.choice([s.name for s in model.specs])
            params = params.replace(**{name: tensor(tape)})
        if tape.unit() > 0.7:
            name = tape.choice([s.name for s in model.specs])
            given["control"] = Control({name: tensor(tape, 1, 9, 3)})
        found = simulate(model, params, **given)
        assert bool(torch.isfinite(found.q).all()), "states not finite"
    except (InputError, SimulationError, LookupError) as error:
        return f"refused: {str(error)[:80]}"
    return "ran"
