"""Poses of drawn links."""

from __future__ import annotations

import math

import torch

from diffloom import get_model


def test_a_fixed_link_at_the_end_is_carried() -> None:
    """A fixed link has no coordinate, while all coordinates belong to another link."""
    arm = {"name": "arm", "axis": [0.0, 0.0, 1.0], "start": 0.5 * math.pi}
    hand = {"name": "hand", "parent": "arm", "joint": "fixed", "position": [0.0, -0.3, 0.0],
            "shapes": [{"shape": "sphere", "radius": 0.1}]}  # fmt: skip
    model = get_model("articulated")([{"links": [arm, hand]}])
    params = model.params(torch.float64)
    state = model.initial_state(params)
    _, origins = model.poses(state.__class__(state.q[None], state.u[None]), params)
    torch.testing.assert_close(origins[0, 1], torch.tensor([0.3, 0.0, 0.0], dtype=torch.float64))
