"""Gradients that need the force backwards, for any declaration of the node set."""

import drag_node_kernels as kernels
import pytest
import torch

from diffloom import get_integrator
from diffloom.interfaces import State, StoreAll
from diffloom_mechanics import Mechanics, NodeMotion, NodeSet, NodeTerm, particles
from diffloom_mechanics.derived_adjoints import complete_nodes
from diffloom_mechanics.force_needs import find_force_needs
from diffloom_testing import check_gradient

DOUBLE = {"dtype": torch.float64}


def system(stiffness, declared):
    arrays = (("inverse_mass", torch.full((3,), 0.5, **DOUBLE)), ("loss", torch.full((3,), 0.8, **DOUBLE)))
    motion = NodeMotion(kernels.drift)
    nodes = NodeSet("dragged", 1, 1, kernels.acceleration, None, arrays, motion, force_needed_by=declared)
    return Mechanics(nodes, (NodeTerm("spring", kernels.spring, params=(("stiffness", stiffness),)),))


@pytest.mark.parametrize("declared", [(), ("inverse_mass",), None])
def test_a_drift_that_reads_the_velocity_gets_the_force_it_needs(declared):
    start = State(torch.tensor([[0.3], [0.7], [-0.4]], **DOUBLE), torch.tensor([[1.1], [-0.2], [0.6]], **DOUBLE))
    run = get_integrator("semi_implicit")().rollout

    def motion(stiffness):
        path = run(system(stiffness, declared), start, dt=0.1, steps=4, save=(4,), gradient=StoreAll())
        return torch.cat([path.q.flatten(), path.u.flatten()])

    found = check_gradient(motion, {"stiffness": torch.tensor([4.0, 6.0, 9.0], **DOUBLE)})
    assert max(one.error for one in found) < 1e-7


def test_the_need_is_read_from_the_source():
    assert find_force_needs(complete_nodes(system(torch.ones(3, **DOUBLE), ()).nodes)) is None
    assert find_force_needs(particles(torch.ones(2), torch.zeros(3))) == {"inverse_mass"}
