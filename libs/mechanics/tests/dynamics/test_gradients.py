"""Adjoints of every term, law and scheme against finite differences, with contact active."""

from __future__ import annotations

import pytest
import torch

from diffloom.interfaces import Checkpointed, State, StoreAll
from diffloom_mechanics import BackwardEuler, SemiImplicitEuler, TorchTerm
from diffloom_testing import check_gradient

STEPS = 40
SCHEMES = [
    pytest.param(SemiImplicitEuler(target="serial"), 1.0 / 240.0, STEPS, id="semi_implicit"),
    pytest.param(BackwardEuler(), 1.0 / 40.0, 10, id="backward_euler"),
]
# Short enough to cross few kinks of the contact force, long enough for states that carry the tolerance of a solver.
DIFFERENCE = 1e-6


def drag(coefficient):
    return TorchTerm("drag", lambda clock, q, u, c: -c * u * u.norm(dim=1, keepdim=True), (("c", coefficient),))


def touching(system, q) -> int:
    """Return the number of particles inside the ground."""
    ground = next(t for t in system.terms if t.name == "ground")
    normal, height = ground.params[0][1], ground.params[1][1]
    return int(((normal * q).sum(dim=1) < height).sum())


def test_force_gradients_of_every_input(net):
    assert touching(net.system(), net.inputs["q"]) >= 2
    used = {k: v for k, v in net.inputs.items() if k not in ("mass", "gravity")}

    def force(q, u, **given):
        return net.system(**given).force(q, u, k=15, dt=1.0 / 240.0)

    check_gradient(force, used, tolerance=1e-6)


@pytest.mark.parametrize("extra", [False, True], ids=["compiled", "with torch term"])
@pytest.mark.parametrize("scheme, dt, steps", SCHEMES)
def test_rollout_gradients_of_every_input(net, scheme, dt, steps, extra):
    inputs = {**net.inputs, "control": net.inputs["control"][:steps]}
    if extra:
        inputs["drag"] = torch.tensor(0.2, dtype=torch.float64)

    def run(q, u, **given):
        more = (drag(given.pop("drag")),) if extra else ()
        system = net.system(extra=more, **given)
        path = scheme.rollout(system, State(q, u), dt=dt, steps=steps, save=(0, 3, steps), gradient=StoreAll())
        assert touching(system, path.q[-1].detach()) >= 1
        return torch.cat([path.q.reshape(-1), path.u.reshape(-1)])

    check_gradient(run, inputs, tolerance=1e-5, directions=1, step=DIFFERENCE)


@pytest.mark.parametrize("scheme, dt, steps", SCHEMES)
def test_checkpointing_changes_no_bit(net, scheme, dt, steps):
    def grads(policy):
        leaves = {k: v.clone().requires_grad_() for k, v in net.inputs.items()}
        state = State(leaves["q"], leaves["u"])
        system = net.system(**{k: v for k, v in leaves.items() if k not in ("q", "u")})
        path = scheme.rollout(system, state, dt=dt, steps=steps, save=(0, 4, 5, steps), gradient=policy)
        loss = (path.q**2).sum() + (path.u**3).sum()
        return path.q, torch.autograd.grad(loss, list(leaves.values()))

    path, whole = grads(StoreAll())
    for policy in (Checkpointed(), Checkpointed(segment=1), Checkpointed(segment=7), Checkpointed(memory=20_000)):
        again, parts = grads(policy)
        assert torch.equal(path, again)
        assert all(torch.equal(a, b) for a, b in zip(whole, parts, strict=True)), policy
