"""Simulated states as a NumPy archive."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffloom.interfaces import Trajectory
from diffloom_fitting.run_folder.writing import new_file


def write_states(path: Path, trajectory: Trajectory) -> None:
    """Write q (frames, nodes, dq), u (frames, nodes, du) and times (frames,) [s]."""
    with new_file(path) as beside:
        saved = {name: getattr(trajectory, name).cpu().numpy() for name in ("q", "u", "times")}
        np.savez_compressed(beside, **saved)
