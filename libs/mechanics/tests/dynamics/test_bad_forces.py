"""Messages about forces that are not finite and terms that raise; systems that refuse integrators."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from diffloom.interfaces import NoGradient, SimulationError, State
from diffloom.plugins import get_integrator
from diffloom_kernels import device, ld3, mul3, neg3, store_corners, sub3
from diffloom_mechanics import ElementTerm, Mechanics, TorchTerm, particles, refuse_unless_mechanics

REAL = torch.float64
PAIRS = np.array([[0, 1], [1, 2]], dtype=np.int32)


@device
def bond_force(e, clock, q, u, nodes, strength, out):
    """A force that grows with the inverse of the distance along z, which may be zero."""
    d = sub3(ld3(q, nodes[e, 1]), ld3(q, nodes[e, 0]))
    f = mul3(d, strength[e] / d[2])
    store_corners(out, e, (f, neg3(f)))


def run(*terms, heights=(0.0, 1.0, 2.0)):
    q = torch.tensor([[0.0, 0.0, z] for z in heights], dtype=REAL)
    system = Mechanics(particles(torch.ones(3, dtype=REAL), torch.zeros(3, dtype=REAL)), terms)
    get_integrator("semi_implicit")().rollout(
        system, State(q, torch.zeros_like(q)), dt=1e-3, steps=4, save=(4,), gradient=NoGradient()
    )


def test_a_force_that_is_not_finite_names_term_step_and_element():
    bonds = ElementTerm("bonds", PAIRS, bond_force, params=(("strength", torch.ones(2, dtype=REAL)),))
    run(bonds)
    with pytest.raises(SimulationError, match=r"term 'bonds': the force of element 1 is not finite in step 1"):
        run(bonds, heights=(0.0, 1.0, 1.0))


def test_a_pytorch_term_that_is_not_finite_is_named():
    def force(clock, q, u):
        return torch.where(torch.tensor(clock.row < 2), u, (q[:, 2:] - 1.0).log().expand_as(u))

    with pytest.raises(SimulationError, match=r"term 'odd': the force of node 0 is not finite in step 3"):
        run(TorchTerm("odd", force))


def test_an_error_in_a_pytorch_term_names_term_and_step():
    def force(clock, q, u):
        return u * (1.0 / (clock.row - 2))

    with pytest.raises(SimulationError, match=r"term 'odd': its force raised ZeroDivisionError in step 3") as caught:
        run(TorchTerm("odd", force))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_systems_and_node_sets_may_refuse_integrators():
    def only_euler(name):
        return None if name == "semi_implicit" else f"{name} means something else here"

    nodes = particles(torch.ones(3, dtype=REAL), torch.zeros(3, dtype=REAL))
    for system in (
        Mechanics(nodes, refuses=only_euler),
        Mechanics(replace(nodes, refuses=only_euler)),
    ):
        assert refuse_unless_mechanics("semi_implicit", system) is None
        assert get_integrator("leapfrog")().refuses(system) == "leapfrog means something else here"
