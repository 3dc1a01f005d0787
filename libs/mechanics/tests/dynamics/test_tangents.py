"""Forward-mode derivatives of rollouts, against gradients and differences."""

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

from diffloom import get_integrator
from diffloom.interfaces import InputError, NoGradient, State, StoreAll
from diffloom_mechanics import Mechanics, TorchTerm, particles, springs

DOUBLE = {"dtype": torch.float64}
COUNT = 6


@pytest.fixture
def given():
    torch.manual_seed(0)
    made = {name: torch.rand(COUNT - 1, **DOUBLE) for name in ("stiffness", "damping", "rest")}
    made |= {"q": torch.randn(COUNT, 3, **DOUBLE), "u": torch.randn(COUNT, 3, **DOUBLE)}
    return made | {"mass": 1.0 + torch.rand(COUNT, **DOUBLE), "gravity": torch.randn(3, **DOUBLE)}


def motion(stiffness, damping, rest, q, u, mass, gravity, integrator="semi_implicit", extra=()):
    """Saved states of a chain, as one row of numbers."""
    pairs = np.stack([np.arange(COUNT - 1), np.arange(1, COUNT)], axis=1).astype(np.int32)
    system = Mechanics(particles(mass, gravity), (springs(pairs, stiffness, damping, rest), *extra))
    policy = NoGradient() if not torch.is_grad_enabled() else StoreAll()
    path = get_integrator(integrator)().rollout(
        system, State(q, u), dt=1e-2, steps=12, save=(0, 5, 12), gradient=policy
    )
    return torch.cat([path.q.flatten(), path.u.flatten()])


def directions(given, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(value.shape, generator=generator, **DOUBLE) for name, value in given.items()}


def push(given, along, **more):
    """Values and tangents."""
    names = list(given)

    def function(*values):
        return motion(**dict(zip(names, values, strict=True)), **more)

    return torch.func.jvp(function, tuple(given.values()), tuple(along.values()))


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_tangents_are_the_transpose_of_gradients(given, integrator):
    along = directions(given)
    value, tangent = push(given, along, integrator=integrator)
    assert torch.equal(value, motion(**given, integrator=integrator))
    weights = torch.linspace(-1.0, 1.0, tangent.numel(), **DOUBLE)
    leaves = {name: value.clone().requires_grad_() for name, value in given.items()}
    found = torch.autograd.grad(motion(**leaves, integrator=integrator) @ weights, list(leaves.values()))
    back = sum(float((g * d).sum()) for g, d in zip(found, along.values(), strict=True))
    assert float(tangent.abs().max()) > 0.1
    assert float(tangent @ weights) == pytest.approx(back, rel=1e-13)


def test_tangents_agree_with_differences_of_high_order(given):
    along, h = directions(given, 2), 1e-2
    _, tangent = push(given, along)
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}

    def moved(k):
        return motion(**{name: value + k * h * along[name] for name, value in given.items()})

    found = sum(w * (moved(k) - moved(-k)) for k, w in weights.items()) / h
    assert torch.allclose(tangent, found, rtol=1e-10, atol=1e-10)


def test_jacobians_and_batches_of_tangents(given):
    rest = {name: value for name, value in given.items() if name not in ("gravity", "mass")}

    def function(gravity, mass):
        return motion(**rest, gravity=gravity, mass=mass)

    inputs = (given["gravity"], given["mass"])
    forward = torch.func.jacfwd(function, argnums=(0, 1))(*inputs)
    backward = torch.autograd.functional.jacobian(function, inputs)
    for a, b in zip(forward, backward, strict=True):
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-13)
    many = torch.stack([given["gravity"], 2.0 * given["gravity"]])
    slopes = torch.vmap(lambda g: torch.func.jvp(lambda x: function(x, given["mass"]), (g,), (g,))[1])(many)
    for g, slope in zip(many, slopes, strict=True):
        with forward_ad.dual_level():
            path = function(forward_ad.make_dual(g, g), given["mass"])
            assert torch.equal(forward_ad.unpack_dual(path).tangent, slope)


def second(given):
    return torch.func.jvp(lambda a: push(given | {"gravity": a}, directions(given))[1], (given["gravity"],) * 1,
                          (given["gravity"],))  # fmt: skip


DRAG = TorchTerm("drag", lambda clock, q, u: -u)
REFUSED = {
    "single precision": (lambda given: push({n: v.float() for n, v in given.items()},
                                            {n: v.float() for n, v in given.items()}), "expected float64 on the CPU"),
    "an implicit scheme": (lambda given: push(given, given, integrator="backward_euler"), "explicit integrators"),
    "a force in PyTorch": (lambda given: push(given, given, extra=(DRAG,)), "without forces in PyTorch"),
    "a second derivative": (second, "can be differentiated once"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_has_no_tangents_says_so(given, what):
    run, message = REFUSED[what]
    with pytest.raises(InputError, match=message):
        run(given)
