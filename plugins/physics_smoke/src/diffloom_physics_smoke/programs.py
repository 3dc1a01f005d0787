"""Program of smoke, with sample arguments of its pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from diffloom_kernels import Program, RecordedCalls, record_calls

from .pressure_kernels import project
from .step_kernels import step_backward, step_forward


def samples(dtype: Any) -> RecordedCalls:
    """Return the arguments of every pipeline for a grid of two by three cells, in float32 or float64."""
    from .flow import Flow

    kind = torch.float64 if np.dtype(dtype) == np.float64 else torch.float32
    flow = Flow(2, 3, 1.0, walls=True)
    density, velocity = torch.zeros(6, 1, dtype=kind), torch.zeros(6, 2, dtype=kind, requires_grad=True)
    with record_calls(program) as noted:
        moved, carried = flow.step(density, flow.project(velocity), torch.zeros((), dtype=kind), torch.ones(()), 0.1)
        (moved.sum() + carried.sum()).backward()
    return noted


program = Program("smoke", (project, step_forward, step_backward), samples)
