"""The membrane stress that is shown is the one that acts: the forces of a stretched sheet are its virial."""

import pytest
import torch

from diffloom.interfaces import Control, InputError, Trajectory
from diffloom_physics_cloth.model import ClothModel

SHEET = {"shape": "grid", "cells": [3, 2], "size": [0.6, 0.4]}


def stretched(model, gradient):
    q = torch.from_numpy(model.sheet.vertices) @ gradient.T
    return Trajectory(q[None], torch.zeros_like(q)[None], torch.zeros(1, dtype=torch.float64))


@pytest.mark.parametrize("planar", [False, True])
def test_the_virial_of_the_forces_is_the_stress_times_the_area(planar):
    """Sum of f x^T over the nodes = -A N in a sheet that is deformed evenly."""
    model = ClothModel(SHEET, bending=False, planar=planar)
    draw = torch.Generator().manual_seed(1)
    gradient = torch.eye(3, dtype=torch.float64)
    gradient += 0.25 * torch.randn(3, 3, generator=draw, dtype=torch.float64)
    if planar:  # keep the plane
        normal = torch.as_tensor(model.normal)
        across = torch.eye(3, dtype=torch.float64) - torch.outer(normal, normal)
        gradient = across @ gradient @ across + torch.outer(normal, normal)
    params = model.params(
        torch.float64, shear_modulus=120.0, lame_modulus=300.0, activation=0.05, damping=0.0, gravity=[0.0, 0.0, 0.0]
    )
    path = stretched(model, gradient)
    force = model.dynamics(params, Control()).force(path.q[0], path.u[0], dt=1e-3)
    virial = torch.einsum("ni,nj->ij", force, path.q[0])
    corner = path.q[0][torch.from_numpy(model.sheet.faces)]
    area = 0.5 * torch.linalg.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]).norm(dim=1).sum()
    # The stress has a third eigenvalue, 0 across the sheet.
    acts = torch.linalg.eigvalsh(-virial / area)
    expected = model.membrane_stress(path, params)[0, 0]
    zero = torch.zeros(1, dtype=torch.float64)
    torch.testing.assert_close(acts, torch.cat([expected, zero]).sort().values, rtol=1e-9, atol=1e-7)


def test_a_thickness_turns_stress_into_pressure():
    bare, known = ClothModel(SHEET), ClothModel(SHEET, thickness=5e-4)
    gradient = torch.diag(torch.tensor([1.2, 1.0, 1.0], dtype=torch.float64))
    path = stretched(bare, gradient)
    first, second = (model.stress(path, model.params(torch.float64)) for model in (bare, known))
    assert (first.unit, second.unit) == ("N/m", "Pa")
    assert first.values.shape == (1, len(bare.sheet.vertices))
    assert float(first.values.min()) > 1.0
    torch.testing.assert_close(second.values, first.values / 5e-4)


@pytest.mark.parametrize("thickness", [0.0, -1.0, "thin", True, float("nan"), float("inf")])
def test_a_thickness_is_a_length(thickness):
    with pytest.raises(InputError, match="thickness: got"):
        ClothModel(SHEET, thickness=thickness)


def test_rest_shows_nothing():
    model = ClothModel(SHEET)
    path = stretched(model, torch.eye(3, dtype=torch.float64))
    assert float(model.stress(path, model.params(torch.float64)).values.max()) < 1e-9
