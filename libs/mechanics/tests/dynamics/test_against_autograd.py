"""Compiled springs and contact against the same physics in plain PyTorch."""

from __future__ import annotations

import numpy as np
import torch

from diffloom.interfaces import State, StoreAll
from diffloom_mechanics import Mechanics, SemiImplicitEuler, TorchTerm, particles, springs


def spring_force(clock, q, u, stiffness, damping, rest_length, *, pairs):
    i, j = pairs[:, 0], pairs[:, 1]
    d, s = q[j] - q[i], u[j] - u[i]
    length = d.norm(dim=1)
    n = d / length[:, None]
    tension = stiffness * (length - rest_length) + damping * (n * s).sum(dim=1)
    f = tension[:, None] * n
    return torch.zeros_like(q).index_add(0, i, f).index_add(0, j, -f)


def test_compiled_and_plain_springs_agree(net):
    at = {k: net.inputs[k] for k in ("q", "u", "mass", "gravity", "stiffness", "damping", "rest_length")}
    pairs = np.array([(i, i + 1) for i in range(12)] + [(i, i + 2) for i in range(11)], np.int32)
    index = torch.from_numpy(pairs).long()

    def run(compiled: bool):
        leaves = {k: v.clone().requires_grad_() for k, v in at.items()}
        given = (leaves["stiffness"], leaves["damping"].expand(len(pairs)), leaves["rest_length"])
        if compiled:
            term = springs(pairs, *given)
        else:
            names = ("stiffness", "damping", "rest_length")
            term = TorchTerm(
                "springs", lambda *args: spring_force(*args, pairs=index), tuple(zip(names, given, strict=True))
            )
        system = Mechanics(particles(leaves["mass"], leaves["gravity"]), (term,))
        path = SemiImplicitEuler(target="serial").rollout(
            system, State(leaves["q"], leaves["u"]), dt=1 / 240, steps=60, save=(20, 60), gradient=StoreAll()
        )
        grads = torch.autograd.grad((path.q.sin() + path.u.cos()).sum(), list(leaves.values()))
        return path, grads

    path, grads = run(True)
    expected, expected_grads = run(False)
    assert float((path.q - expected.q).abs().max()) <= 1e-12
    assert float((path.u - expected.u).abs().max()) <= 1e-12 * max(1.0, float(expected.u.abs().max()))
    for a, b in zip(grads, expected_grads, strict=True):
        assert float((a - b).norm()) <= 1e-10 * float(b.norm())


def ground_force(q, u, at):
    n = at["ground_normal"] / at["ground_normal"].norm()
    gap, vn = q @ n - at["ground_height"], u @ n
    zero = torch.zeros_like(gap)
    damped = torch.maximum(1.0 - at["contact_dissipation"] * vn, zero)
    fn = torch.where(gap < 0, -at["contact_stiffness"] * gap * damped, zero)
    vt = u - vn[:, None] * n
    speed = vt.norm(dim=1)
    friction = torch.minimum(at["friction"] * fn, at["friction_stiffness"] * speed)
    return fn[:, None] * n - (friction / speed)[:, None] * vt


def test_adjoints_are_the_transposes_of_the_plain_jacobians(net):
    """<J a, b> = <a, J^T b>: J from forward differentiation of PyTorch code, J^T from the compiled adjoint."""
    at = net.inputs
    system = net.system()
    kept = Mechanics(system.nodes, system.terms[:2])
    pairs = torch.from_numpy(system.terms[0].nodes).long()

    def plain(q, u):
        damping = at["damping"].expand(len(pairs))
        return spring_force(None, q, u, at["stiffness"], damping, at["rest_length"], pairs=pairs) + ground_force(
            q, u, at
        )

    q, u = at["q"], at["u"]
    assert torch.allclose(plain(q, u), kept.force(q, u), rtol=1e-12, atol=1e-12)
    for seed in range(5):
        random = torch.Generator().manual_seed(seed)
        a_q, a_u, b = (torch.randn(q.shape, generator=random, dtype=q.dtype) for _ in range(3))
        _, moved = torch.func.jvp(plain, (q, u), (a_q, a_u))
        (adj_q,), (adj_u,) = kept.evaluation(kept.tensors, 1.0).force_adjoint(0, (q,), (u,), (b,))
        left, right = float((moved * b).sum()), float((a_q * adj_q).sum() + (a_u * adj_u).sum())
        assert abs(left - right) <= 1e-12 * max(abs(left), float((moved * b).abs().sum()))
