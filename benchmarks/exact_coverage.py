"""Exact coverage beside the soft rasteriser and DIB-R: speed, and how large a sphere is drawn.

    python benchmarks/exact_coverage.py [--sizes 64 128 256 512] [--levels 2 3] [--outputs silhouette rgba]
    python benchmarks/exact_coverage.py --bias [--radii 1.5 4.4 17]

Level n is an icosphere of 20 x 4^n faces, lit by Phong's law where colours are drawn. Times are the best of the repeats
in milliseconds of processor time on one thread, forward and with gradient, taken turn by turn in one process. --bias
prints the drawn radius over the true one: f R / sqrt(d^2 - R^2) for a sphere on the axis.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace

import torch
import trimesh

from diffloom.interfaces import Camera, Material, Renderer, Surface
from diffloom.plugins import get_renderer
from diffloom_kernels import set_num_threads

RENDERERS = {
    "coverage": {},
    "softras": {"faces_per_pixel": 50},
    "dibr": {},
}
LENSES = {
    "coverage": ("coverage", {}),
    "softras, sigma 3e-5": ("softras", {"sigma": 3e-5}),
    "softras, sigma 1e-5": ("softras", {"sigma": 1e-5}),
    "softras, sigma 1e-6": ("softras", {"sigma": 1e-6}),
    "dibr": ("dibr", {}),
}


def make_sphere(level: int, dtype: torch.dtype) -> Surface:
    """An icosphere of radius 0.8 m with random colours."""
    mesh = trimesh.creation.icosphere(level, radius=0.8)
    vertices, random = torch.tensor(mesh.vertices, dtype=dtype), torch.Generator().manual_seed(0)
    colours = torch.rand(vertices.shape, generator=random).to(dtype)
    return Surface(vertices[None], torch.tensor(mesh.faces, dtype=torch.int64), colours=colours)


def time_once(renderer: Renderer, surface: Surface, camera: Camera, output: str) -> tuple[float, float]:
    """Seconds forward, and with gradient."""
    moved = replace(surface, vertices=surface.vertices.clone().requires_grad_())
    begin = time.process_time()
    image = getattr(renderer.render(moved, camera, outputs=(output,)), output)
    middle = time.process_time()
    image.backward(torch.full_like(image, 0.1))
    return middle - begin, time.process_time() - begin


def print_speed(options: argparse.Namespace) -> None:
    """A table of times."""
    set_num_threads(1)
    torch.set_num_threads(1)
    print(
        f"{'output':12}{'faces':>6}{'px':>5} | " + " | ".join(f"{n:>10}: fwd   both" for n in RENDERERS) + " | ratios"
    )
    for output in options.outputs:
        for level in options.levels:
            surface = make_sphere(level, torch.float32)
            surface = replace(surface, material=Material("phong" if output == "rgba" else "unlit"))
            for size in options.sizes:
                camera = Camera.orbit(3.0, size=(size, size))
                best = dict.fromkeys(RENDERERS, (math.inf, math.inf))
                for _ in range(options.repeats):
                    for name, settings in RENDERERS.items():
                        taken = time_once(get_renderer(name)(**settings), surface, camera, output)
                        best[name] = tuple(map(min, best[name], taken))
                ours, theirs = best["coverage"], best["softras"]
                cells = " | ".join(f"{1e3 * a:14.2f} {1e3 * b:6.2f}" for a, b in best.values())
                ratios = f"{ours[0] / theirs[0]:.2f} {ours[1] / theirs[1]:.2f}"
                print(f"{output:12}{len(surface.faces):6}{size:5} | {cells} | {ratios}", flush=True)


def print_bias(options: argparse.Namespace) -> None:
    """A table of drawn radius over true radius, in images of 240 pixels."""
    size, distance, radius, dtype = 240, 3.0, 0.3, torch.float64
    surface = make_sphere(4, dtype)
    surface = replace(surface, vertices=surface.vertices * (radius / 0.8), colours=None)
    print(f"{'drawn by':22}" + "".join(f"{r:>9g} px" for r in options.radii))
    for label, (name, settings) in LENSES.items():
        row = []
        for pixels in options.radii:
            camera = Camera.look_at((0.0, 0.0, distance), size=(size, size), dtype=dtype)
            focal = pixels * math.sqrt(distance**2 - radius**2) / radius
            camera = replace(camera, focal=torch.full((2,), focal, dtype=dtype))
            alpha = get_renderer(name)(**settings).render(surface, camera, outputs=("silhouette",)).silhouette
            row.append(math.sqrt(float(alpha.sum()) / math.pi) / pixels)
        print(f"{label:22}" + "".join(f"{value:12.4f}" for value in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--levels", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--outputs", nargs="+", default=["silhouette", "rgba"])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--bias", action="store_true")
    parser.add_argument("--radii", type=float, nargs="+", default=[1.5, 4.4, 17.0])
    options = parser.parse_args()
    if options.bias:
        print_bias(options)
    else:
        print_speed(options)


if __name__ == "__main__":
    main()
