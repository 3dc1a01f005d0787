"""Small scenes that the tests share."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom.interfaces import Camera, Surface

ROOT = Path(__file__).parents[3]


def lump(level: int = 1, seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """A dented ball: vertices (n, 3) and faces."""
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.icosphere(level)
    random = np.random.default_rng(seed)
    vertices = np.array(mesh.vertices) * (1.0 + 0.2 * random.uniform(-1.0, 1.0, (len(mesh.vertices), 1)))
    return torch.tensor(vertices, dtype=dtype), torch.tensor(np.array(mesh.faces), dtype=torch.int64)


@pytest.fixture
def ball() -> Callable[..., Surface]:
    """Surfaces of a dented ball; frames are turned a little from one to the next."""

    def make(level: int = 1, frames: int = 1, dtype: torch.dtype = torch.float64, **appearance: object) -> Surface:
        vertices, faces = lump(level, dtype=dtype)
        angles = [0.3 * t for t in range(frames)]
        turned = [vertices @ turn(angle, dtype).T for angle in angles]
        return Surface(torch.stack(turned), faces, **appearance)  # type: ignore[arg-type]

    return make


@pytest.fixture
def camera() -> Callable[..., Camera]:
    """Cameras that see the ball, not centred and not square."""

    def make(size: tuple[int, int] = (32, 41), dtype: torch.dtype = torch.float64, **more: object) -> Camera:
        return Camera.look_at((0.4, 0.7, 3.1), (0.05, -0.02, 0.0), fov=48.0, size=size, dtype=dtype, **more)  # type: ignore[arg-type]

    return make


def turn(angle: float, dtype: torch.dtype) -> Tensor:
    """Rotation about an oblique axis."""
    axis = np.array([0.3, 1.0, 0.2])
    axis /= np.linalg.norm(axis)
    k = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return torch.tensor(np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k, dtype=dtype)


@pytest.fixture
def oracle() -> Callable[[str], dict[str, np.ndarray]]:
    """Arrays of a reference file, which is not part of this repository."""
    folder = Path(os.environ.get("DIFFLOOM_ORACLES", ROOT.parent / "shared" / "oracles"))

    def load(name: str) -> dict[str, np.ndarray]:
        path = folder / name
        if not path.is_file():
            pytest.skip(f"{name} is not there: set DIFFLOOM_ORACLES to the folder that holds it")
        with np.load(path) as file:
            return dict(file)

    return load


@pytest.fixture(scope="session")
def kaolin() -> ModuleType:
    """The real library, with or without CUDA; it takes seconds to import."""
    try:
        module = importlib.import_module("kaolin")
        importlib.import_module("kaolin.render.mesh")
    except (ImportError, RuntimeError, OSError) as cause:
        pytest.skip(f"kaolin does not import here ({type(cause).__name__}: {cause}); a build without CUDA would do")
    return module
