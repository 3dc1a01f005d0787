"""Simulated states as a NumPy archive."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffloom.interfaces import Trajectory
from diffloom_fitting.run_folder.writing import new_file


def write_states(path: Path, trajectory: Trajectory) -> None:
    """Write q (frames, nodes, dq), u (frames, nodes, du) and times (frames,) [s]."""
    with new_file(path) as beside:
        np.savez_compressed(beside, q=trajectory.q.numpy(), u=trajectory.u.numpy(), times=trajectory.times.numpy())
