"""Simulated states as a NumPy archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from diffloom.interfaces import Trajectory
from diffloom_fitting.file_writing import new_file


def write_states(path: Path, trajectory: Trajectory) -> None:
    """Write q (frames, nodes, dq), u (frames, nodes, du) and times (frames,) [s]; of several node sets "ball.q" etc."""
    saved: dict[str, Any] = {"times": trajectory.times.cpu().numpy()}
    for name, (q, u) in trajectory.sets.items():
        before = f"{name}." if name else ""
        saved |= {f"{before}q": q.cpu().numpy(), f"{before}u": u.cpu().numpy()}
    with new_file(path) as beside:
        np.savez_compressed(beside, **saved)
