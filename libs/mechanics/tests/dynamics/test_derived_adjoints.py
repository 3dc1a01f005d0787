"""Terms, node sets and contact laws without adjoints: the derived ones, against the hand-written."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from diffloom import get_integrator
from diffloom.interfaces import State, StoreAll
from diffloom_kernels import num_threads, set_num_threads
from diffloom_kernels.derive import UnderivableError
from diffloom_mechanics import Mechanics, NodeTerm, particles, springs
from diffloom_mechanics.contact import derived_laws, friction_kernels, normal_kernels
from diffloom_mechanics.records import Clock

COUNT = 40
DOUBLE = {"dtype": torch.float64}


def bare(system):
    """The system without its adjoints."""
    nodes = system.nodes
    motion = replace(nodes.motion, drift_adjoint=None, rate_adjoint=None)
    terms = tuple(replace(term, adjoint=None) for term in system.terms)
    return Mechanics(replace(nodes, acceleration_adjoint=None, motion=motion), terms)


@pytest.fixture
def chain():
    """Tensors of a chain of springs in random motion, and the function that makes the system."""
    torch.manual_seed(0)
    pairs = np.stack([np.arange(COUNT - 1), np.arange(1, COUNT)], axis=1).astype(np.int32)
    names = ("stiffness", "damping", "rest")
    given = {name: torch.rand(COUNT - 1, **DOUBLE) for name in names}
    given |= {"q": torch.randn(COUNT, 3, **DOUBLE), "u": torch.randn(COUNT, 3, **DOUBLE)}
    given |= {"mass": 1.0 + torch.rand(COUNT, **DOUBLE), "gravity": torch.randn(3, **DOUBLE)}
    for tensor in given.values():
        tensor.requires_grad_()

    def make():
        net = springs(pairs, *(given[name] for name in names))
        return Mechanics(particles(given["mass"], given["gravity"]), (net,))

    return given, make


def gradients(given, system, integrator="leapfrog", target="auto"):
    """Gradients of one number at the end of a rollout."""
    run = get_integrator(integrator)(target=target).rollout
    path = run(system, State(given["q"], given["u"]), dt=1e-2, steps=12, save=(6, 12), gradient=StoreAll())
    weights = torch.linspace(-1.0, 1.0, path.q.numel(), **DOUBLE).reshape(path.q.shape)
    end = (path.q * weights).sum() + path.u.square().sum()
    return torch.autograd.grad(end, list(given.values()), retain_graph=True)


@pytest.mark.parametrize("integrator", ["leapfrog", "rk4"])
def test_gradients_are_those_of_the_hand_written_adjoints(chain, integrator):
    given, make = chain
    by_hand, derived = (gradients(given, system, integrator) for system in (make(), bare(make())))
    for a, b in zip(by_hand, derived, strict=True):
        assert float(a.abs().max()) > 1e-3
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-13 * float(a.abs().max()))


def test_gradients_have_the_same_bits_for_any_number_of_threads_and_without_lanes(chain):
    given, make = chain
    system = bare(make())
    first, before = gradients(given, system, target="serial"), num_threads()
    try:
        for threads in range(1, before + 1):
            set_num_threads(threads)
            assert all(
                torch.equal(*pair) for pair in zip(first, gradients(given, system, target="parallel"), strict=True)
            )
    finally:
        set_num_threads(before)
    scalar = Mechanics(system.nodes, tuple(replace(term, simd=False) for term in system.terms))
    assert all(torch.equal(*pair) for pair in zip(first, gradients(given, scalar), strict=True))


def test_a_force_that_cannot_be_derived_is_refused_by_name():
    term = NodeTerm("other", force=normal_kernels.hunt_crossley_force, reads="b")
    nodes = particles(torch.ones(2), torch.zeros(3))
    place = [{name: torch.zeros(2, 3) for name in "ab"}] * 2
    with pytest.raises(UnderivableError, match="term 'other': it reads another node set"):
        Mechanics({"a": nodes, "b": nodes}, (replace(term, on="a"),)).force(*place)


def flat(value):
    """The numbers of a nested tuple."""
    return [n for entry in value for n in flat(entry)] if isinstance(value, tuple) else [float(value)]


@pytest.mark.parametrize(("name", "width"), [("hunt_crossley", 2), ("toe", 3), ("linear", 2), ("hysteresis", 4)])
def test_normal_laws(name, width):
    rng = np.random.default_rng(0)
    adjoint = derived_laws._normal_adjoint(getattr(normal_kernels, f"{name}_force"), width)
    pair = derived_laws._pair_adjoint(getattr(normal_kernels, f"{name}_pair"), width)
    for k in range(8):
        args = (Clock(0, 0.0, 1e-2, k % 2, 0.0), -0.1 * rng.random(), rng.normal(), tuple(rng.random(width)), 0.7)
        assert flat(adjoint(*args)) == pytest.approx(flat(getattr(normal_kernels, f"{name}_adjoint")(*args)), rel=1e-12)
        args = tuple(tuple(rng.random(width)) for _ in range(3))
        hand = getattr(normal_kernels, f"{name}_pair_adjoint")
        assert flat(pair(*args)) == pytest.approx(flat(hand(*args)), rel=1e-12)


@pytest.mark.parametrize(("name", "width"), [("coulomb", 2), ("stribeck", 4), ("smooth", 3)])
def test_friction_laws(name, width):
    rng = np.random.default_rng(0)
    adjoint = derived_laws._friction_adjoint(getattr(friction_kernels, f"{name}_slope"), width)
    for _ in range(8):
        args = (rng.random(), rng.random(), tuple(rng.random(width)), 0.7)
        assert flat(adjoint(*args)) == pytest.approx(
            flat(getattr(friction_kernels, f"{name}_adjoint")(*args)), rel=1e-9
        )
    at_rest = adjoint(1.0, 0.0, tuple(rng.random(width)), 0.7)
    assert np.isfinite(flat(at_rest)).all()
