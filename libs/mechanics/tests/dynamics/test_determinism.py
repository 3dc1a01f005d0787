"""Values and gradients are the same bits in every run, for any number of threads, in lanes or not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffloom.interfaces import State, StoreAll
from diffloom_kernels import num_threads, set_num_threads, threads
from diffloom_mechanics import ElementTerm, SemiImplicitEuler


@pytest.fixture
def thread_count():
    before = num_threads()
    yield set_num_threads
    set_num_threads(before)


def run(net, target, simd=True):
    leaves = {k: v.clone().requires_grad_() for k, v in net.inputs.items()}
    system = net.system(**{k: v for k, v in leaves.items() if k not in ("q", "u")})
    if not simd:
        terms = tuple(replace(t, simd=False) if isinstance(t, ElementTerm) else t for t in system.terms)
        system = replace(system, terms=terms)
    path = SemiImplicitEuler(target=target).rollout(
        system, State(leaves["q"], leaves["u"]), dt=1 / 240, steps=40, save=(0, 20, 40), gradient=StoreAll()
    )
    grads = torch.autograd.grad((path.q**2).sum() + (path.u**3).sum(), list(leaves.values()))
    return [path.q.detach(), path.u.detach(), *grads]


def same(a, b) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_run_gives_the_same_bits(net_of, thread_count, dtype):
    net = net_of(dtype)
    first = run(net, "serial")
    for _ in range(19):
        assert same(first, run(net, "serial"))
    for count in (1, 2):
        if count <= threads().available:
            thread_count(count)
            for _ in range(20):
                assert same(first, run(net, "parallel"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lanes_equal_scalars(net_of, dtype):
    net = net_of(dtype)
    assert same(run(net, "serial"), run(net, "serial", simd=False))


def test_float32_is_close_to_float64(net_of):
    narrow, wide = run(net_of(torch.float32), "serial"), run(net_of(torch.float64), "serial")
    for a, b in zip(narrow, wide, strict=True):
        assert a.dtype == torch.float32
        assert float((a.double() - b).norm()) <= 2e-4 * float(b.norm())
