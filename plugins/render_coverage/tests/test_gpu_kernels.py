"""The CUDA kernels without a GPU: in numba's simulator they give the CPU's bits, and they compile cleanly."""

import os
import subprocess
import sys

import pytest

from diffloom_kernels.backends import ptx

IN_SIMULATOR = """
import sys
import torch
from diffloom.interfaces import AmbientLight, Camera, HarmonicLight, Material, PointLight, Surface, Texture
from diffloom_render_coverage.renderer import CoverageRenderer

kind = getattr(torch, sys.argv[1])
outputs = ("rgba", "depth", "face_index")
corners = torch.tensor([[-0.7, -0.6, 0.2], [0.8, -0.5, 0.1], [0.1, 0.9, 0.0], [0.0, 0.1, 0.7]], dtype=kind)
faces = torch.tensor([[0, 1, 3], [1, 2, 3], [0, 3, 2]])
sky = torch.linspace(-0.2, 0.3, 27, dtype=kind).reshape(9, 3)


def run(target, near):
    given = {
        "vertices": torch.stack([corners, 0.9 * corners]), "eye": torch.tensor([0.2, 0.3, 2.0], dtype=kind),
        "image": torch.linspace(0.0, 1.0, 18, dtype=kind).reshape(2, 3, 3), "uv": 0.5 + 0.4 * corners[:, :2],
        "sky": sky, "lamp": torch.tensor([1.0, 1.0, 2.0], dtype=kind),
    }
    given = {name: value.clone().requires_grad_() for name, value in given.items()}
    camera = Camera.look_at(given["eye"], size=(6, 9), near=near, far=6.0, dtype=kind)
    texture = Texture(given["image"], given["uv"])
    surface = Surface(given["vertices"], faces, texture=texture, material=Material("phong", shininess=5.0))
    lights = AmbientLight(0.3), PointLight(given["lamp"]), HarmonicLight(given["sky"])
    renderer = CoverageRenderer(target=target)
    image = renderer.render(surface, camera, lights, outputs)
    shadow = renderer.render(surface, camera, outputs=("silhouette",)).silhouette
    loss = image.rgba.square().sum() + image.depth.sum() + shadow.square().sum()
    slopes = torch.autograd.grad(loss, list(given.values()))
    return [image.rgba, image.depth, image.face_index, shadow, *slopes]


for near in (0.3, 1.5):
    serial, cuda = run("serial", near), run("cuda", near)
    assert all(torch.isfinite(a).all() for a in serial)
    assert 0 < (serial[2] >= 0).sum() < serial[2].numel()
    assert all((a != 0).any() for a in serial)
    assert all(torch.equal(a, b) for a, b in zip(serial, cuda)), "CUDA and CPU differ"
    print("equal", len(serial))
"""

#: Run in a process of its own, because compiling for CUDA leaves some 300 MB here, would stay with all later tests.
COMPILED = """
import numpy as np
from diffloom_kernels.backends import cuda_check
from diffloom_render_coverage.programs import program

findings = list(cuda_check.check([program], dtypes=(np.float32,), capabilities=((8, 0),)))
print(len(findings), *[finding for finding in findings if finding.fault], sep="\\n")
"""


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_cuda_kernels_agree_in_the_simulator(kind):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", IN_SIMULATOR, kind], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.split() == ["equal", "10"] * 2


@pytest.mark.skipif(ptx.why_unavailable() is not None, reason=str(ptx.why_unavailable()))
def test_kernels_compile_without_unknown_spills_or_stray_float64():
    run = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    count, *faults = run.stdout.splitlines()
    assert int(count) > 20
    assert not faults
