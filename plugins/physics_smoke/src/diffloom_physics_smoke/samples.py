"""Arguments of the pipelines, as for a tiny grid, noted instead of run."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from diffloom_kernels import Noted, recording

from .flow import Flow
from .programs import program


def recorded_arguments(dtype: Any) -> Noted:
    """By pipeline, in float32 or float64."""
    kind = torch.float64 if np.dtype(dtype) == np.float64 else torch.float32
    flow = Flow(2, 3, 1.0, walls=True)
    density, velocity = torch.zeros(6, 1, dtype=kind), torch.zeros(6, 2, dtype=kind, requires_grad=True)
    with recording(program) as noted:
        moved, carried = flow.step(density, flow.project(velocity), torch.zeros((), dtype=kind), torch.ones(()), 0.1)
        (moved.sum() + carried.sum()).backward()
    return noted
