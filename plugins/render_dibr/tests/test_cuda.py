"""CUDA without a GPU: compiled for it, and run by the simulator."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from diffloom_kernels.backends import cuda_check, ptx
from diffloom_render_dibr.programs import PROGRAMS

SIMULATED = """
import numpy as np, torch
from diffloom.interfaces import Camera, Material, Surface, Texture
from diffloom_render_dibr.renderer import DibrRenderer

vertices = torch.tensor([[-0.8, -0.6, 0.1], [0.9, -0.5, 0.0], [0.1, 0.8, -0.2], [0.3, 0.0, 0.7]], dtype=torch.float64)
faces = torch.tensor([[0, 1, 3], [1, 2, 3], [2, 0, 3]])
camera = Camera.look_at((0.1, 0.2, 3.0), fov=50.0, size=(11, 10), dtype=torch.float64)
for compat in (None, "kaolin"):
    found = []
    for target in ("serial", "cuda"):
        points = vertices[None].clone().requires_grad_()
        surface = Surface(points, faces, colours=vertices.abs(), material=Material("phong"))
        renderer = DibrRenderer(compat=compat, sigmainv=60.0, boxlen=0.3, knum=2, target=target)
        image = renderer.render(surface, camera, outputs=("rgba", "depth", "face_index"))
        (image.rgba.square().sum() + image.depth.sum()).backward()
        assert int((image.face_index >= 0).sum()) > 5
        found.append((image.rgba.detach(), image.depth.detach(), image.face_index, points.grad))
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(*found)), compat

# colours and textures over time
for look in ("colours", "image"):
    found = []
    for target in ("serial", "cuda"):
        shape = (2, 4, 3) if look == "colours" else (2, 2, 3, 3)
        own = torch.linspace(0.1, 0.9, torch.Size(shape).numel(), dtype=torch.float64).reshape(shape).requires_grad_()
        given = {"colours": own} if look == "colours" else {"texture": Texture(own, 0.5 + 0.4 * vertices[:, :2])}
        surface = Surface(torch.stack([vertices, 0.9 * vertices]), faces, material=Material("lambert"), **given)
        image = DibrRenderer(target=target).render(surface, camera)
        image.rgba.square().sum().backward()
        found.append((image.rgba.detach(), own.grad))
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(*found)), look
    assert all(float(part.abs().max()) > 0.0 for part in found[0][1])
print("agree")
"""


def test_simulated_equals_serial():
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED], capture_output=True, text=True, env=environment, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().endswith("agree")


def test_samples_cover_every_pipeline():
    for program in PROGRAMS.values():
        assert set(program.samples("float32")) == set(program.pipelines)


@pytest.mark.slow
def test_compiles_for_cuda():
    reason = ptx.why_unavailable()
    if reason:
        pytest.skip(reason)
    findings = list(cuda_check.check(PROGRAMS.values()))
    assert findings
    assert not [f for f in findings if f.fault]
