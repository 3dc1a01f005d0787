"""Error of an image's gradient at equal time: exact coverage, soft rasterisers, and Mitsuba's projective integrators.

    python benchmarks/gradient_at_equal_time.py [--size 128] [--samples 1 4 16 64] [--write docs/renderers/coverage.md]

A white sphere of 320 faces, without shading and before black, is off by half its radius from where a target image shows
it. The gradient of 1/2 sum (image - target)^2 by place and radius (x, y, z, R) is compared with coverage's in float64,
which agrees with differences to 1e-9. All renderers get the cotangent of the exact image, so that only their gradients
differ. Error: length of the difference over the length of the gradient, root mean square over the seeds. Times are the
best of the repeats in milliseconds of processor time on one thread, forward and backward, after a first draw that
compiles. Mitsuba's rows are left out, with the reason, where it does not run.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import trimesh
from exact_coverage import print_table, write_table
from torch import Tensor

from diffloom.interfaces import Camera, Renderer, Surface
from diffloom.plugins import get_renderer
from diffloom_kernels import set_num_threads

DISTANCE, RADIUS = 3.0, 0.5
#: (seed) -> gradient by (x, y, z, R)
Gradient = Callable[[int], Tensor]


class Scene:
    """A sphere that is moved and grown by four numbers."""

    def __init__(self, level: int, size: int) -> None:
        mesh = trimesh.creation.icosphere(level)
        self.unit, self.faces = torch.tensor(mesh.vertices), torch.tensor(mesh.faces)
        self.size = size
        self.camera = Camera.look_at((0.0, 0.0, DISTANCE), size=(size, size), dtype=torch.float64)
        self.exact = get_renderer("coverage")()
        start = torch.tensor([0.0, 0.0, 0.0, RADIUS], dtype=torch.float64, requires_grad=True)
        image = self.draw(self.exact, start)
        target = self.draw(
            self.exact, torch.tensor([0.5 * RADIUS, 0.2 * RADIUS, 0.1, 1.1 * RADIUS], dtype=torch.float64)
        )
        self.cotangent = (image - target).detach()
        self.true = torch.autograd.grad(image, start, self.cotangent)[0]

    def place(self, numbers: Tensor) -> Tensor:
        """Vertices for (x, y, z, R)."""
        return numbers[:3] + numbers[3] * self.unit.to(numbers.dtype)

    def draw(self, renderer: Renderer, numbers: Tensor) -> Tensor:
        """The silhouette of the sphere."""
        view = self.camera
        if numbers.dtype == torch.float32:
            view = Camera.look_at((0.0, 0.0, DISTANCE), size=(self.size, self.size), dtype=torch.float32)
        found = renderer.render(
            Surface(self.place(numbers)[None], self.faces), view, outputs=("silhouette",)
        ).silhouette
        assert found is not None
        return found

    def gradient(self, renderer: Renderer) -> Tensor:
        """The gradient by one of our renderers, in float32."""
        numbers = torch.tensor([0.0, 0.0, 0.0, RADIUS], requires_grad=True)
        image = self.draw(renderer, numbers)
        return torch.autograd.grad(image, numbers, self.cotangent.float())[0].double()

    def through_place(self, adj_vertices: Tensor) -> Tensor:
        """The gradient by the four numbers from the cotangents of the vertices (vertices, 3)."""
        return torch.cat([adj_vertices.sum(0), (adj_vertices * self.unit).sum().reshape(1)])


class Projective:
    """Mitsuba's own integrators on the same sphere, which emits light of radiance 1."""

    def __init__(self, scene: Scene) -> None:
        import drjit as dr
        import mitsuba as mi

        self.dr, self.mi, self.scene = dr, mi, scene
        mesh = mi.Mesh(
            "sphere", len(scene.unit), len(scene.faces),
            props=_properties(mi, mi.load_dict({"type": "area", "radiance": {"type": "rgb", "value": 1.0}})),
        )  # fmt: skip
        params = mi.traverse(mesh)
        params["faces"] = mi.UInt32(scene.faces.numpy().astype(np.uint32).reshape(-1))
        start = scene.place(torch.tensor([0.0, 0.0, 0.0, RADIUS], dtype=torch.float64))
        self.points = mi.Float(start.numpy().astype(np.float32).reshape(-1))
        params["vertex_positions"] = self.points
        params.update()
        focal = float(scene.camera.focal[0])
        film = {
            "type": "hdrfilm", "width": scene.size, "height": scene.size, "pixel_format": "rgb",
            "component_format": "float32", "rfilter": {"type": "box"}, "sample_border": True,
        }  # fmt: skip
        self.world = mi.load_dict({
            "type": "scene", "sphere": mesh,
            "sensor": {
                "type": "perspective", "fov": math.degrees(2.0 * math.atan(0.5 * scene.size / focal)), "fov_axis": "x",
                "to_world": mi.ScalarTransform4f().look_at([0, 0, DISTANCE], [0, 0, 0], [0, 1, 0]),
                "film": film, "sampler": {"type": "independent"},
            },
        })  # fmt: skip
        self.params = mi.traverse(self.world)
        cotangent = scene.cotangent[0, :, :, None].float().numpy() / 3.0
        self.cotangent = mi.TensorXf(np.ascontiguousarray(np.repeat(cotangent, 3, axis=2)))

    def image(self, samples: int) -> Any:
        """The first channel of the primal image."""
        found = self.mi.load_dict({"type": "direct_projective"}).render(self.world, 0, 0, samples)
        return np.array(found)[..., 0]

    def gradient(self, name: str, samples: int) -> Gradient:
        """The gradient by an integrator, with as many samples of a pixel for the image and for the gradient.

        The emission does not depend on the mesh, so that samples of its inside are left out (sppi = 0).
        """
        mi, dr = self.mi, self.dr
        integrator = mi.load_dict({"type": name, "sppi": 0, "sppc": 0, "sppp": samples, "max_depth": 2})

        def find(seed: int) -> Tensor:
            key = "sphere.vertex_positions"
            points = mi.Float(self.points)
            dr.enable_grad(points)
            self.params[key] = points
            self.params.update()
            np.array(integrator.render(self.world, 0, 2 * seed, samples))
            integrator.render_backward(self.world, self.params, self.cotangent, 0, 2 * seed + 1, samples)
            found = torch.from_numpy(np.array(dr.grad(points), dtype=np.float64)).reshape(-1, 3)
            return self.scene.through_place(found)

        return find


def _properties(mi: Any, emitter: Any) -> Any:
    """Properties of a mesh that emits."""
    found = mi.Properties()
    found["emitter"] = emitter
    return found


def measure(gradient: Gradient, true: Tensor, seeds: int) -> list[str]:
    """Error and best time."""
    gradient(0)  # compiles
    errors, best = [], math.inf
    for seed in range(1, seeds + 1):
        begin = time.process_time()
        found = gradient(seed)
        best = min(best, time.process_time() - begin)
        errors.append(float((found - true).norm() / true.norm()) ** 2)
    return [f"{math.sqrt(sum(errors) / len(errors)):.1e}", f"{1e3 * best:.1f}"]


def list_rows(scene: Scene, options: argparse.Namespace) -> Iterable[list[str]]:
    """The table, row by row."""
    from diffloom_render_mitsuba.library import use_threads, why_unavailable

    ours = {
        "coverage": get_renderer("coverage")(),
        "softras, sigma 1e-4": get_renderer("softras")(sigma=1e-4),
        "softras, sigma 1e-5": get_renderer("softras")(sigma=1e-5),
        "softras, sigma 1e-6": get_renderer("softras")(sigma=1e-6),
        "dibr, defaults": get_renderer("dibr")(),
    }
    for label, renderer in ours.items():
        yield [
            label,
            "-",
            *measure(lambda seed, renderer=renderer: scene.gradient(renderer), scene.true, options.seeds),
        ]
    reason = why_unavailable()
    if reason is not None:
        print(f"mitsuba: left out, {reason}")
        return
    use_threads(1)
    projective = Projective(scene)
    for name in ("direct_projective", "prb_projective"):
        for samples in options.samples:
            found = measure(projective.gradient(name, samples), scene.true, options.seeds)
            yield [f"mitsuba, {name}", str(samples), *found]
    for samples in options.samples:

        def find(seed: int, samples: int = samples) -> Tensor:
            return scene.gradient(get_renderer("mitsuba")(samples=samples, gradient_samples=samples, seed=seed))

        yield ["mitsuba, our matched mode", str(samples), *measure(find, scene.true, options.seeds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="page whose table is replaced")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--samples", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    set_num_threads(1)
    torch.set_num_threads(1)
    head = ["gradient by", "samples of a pixel", "error", "ms"]
    table = print_table(head, list_rows(Scene(options.level, options.size), options))
    if options.write:
        write_table(options.write, "equal-time", table)


if __name__ == "__main__":
    main()
