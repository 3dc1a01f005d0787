"""Exact coverage beside other renderers: sizes, gradients and speed.

    python benchmarks/exact_coverage.py bias slopes gradients speed [--write docs/renderers/coverage.md]
    python benchmarks/exact_coverage.py speed [--sizes 64 128 256 512] [--levels 2 3] [--outputs silhouette rgba]

bias: the drawn radius of a sphere over the true one, f R / sqrt(d^2 - R^2) on the axis, in images of 240 pixels.
slopes: the derivative of the drawn area by the radius over the analytic one. gradients: the worst
difference between adjoint and central differences over random scenes with occlusion. speed: the best of the repeats in
milliseconds of processor time on one thread, forward / forward and backward, the renderers turn by turn; level n is an
icosphere of 20 x 4^n faces, lit by Phong's law where colours are drawn. Mitsuba has a row where it is installed.
--write puts each table between the page's marks of its name.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import torch
import trimesh

from diffloom.interfaces import Camera, Material, Renderer, Surface
from diffloom.plugins import get_renderer
from diffloom_geometry import match_surface
from diffloom_kernels import set_num_threads
from diffloom_testing import compare_gradient
from diffloom_testing.scenes import make_occluded

RENDERERS = {
    "coverage": {},
    "softras": {"faces_per_pixel": 50},
    "dibr": {},
}
#: The row whose mesh has the sphere's own surface; meshes of other rows have their vertices on the sphere.
AREA = 'coverage, tessellation = "area"'
LENSES = {
    "coverage": ("coverage", {}),
    AREA: ("coverage", {}),
    "softras, sigma 3e-5": ("softras", {"sigma": 3e-5}),
    "softras, sigma 1e-5": ("softras", {"sigma": 1e-5}),
    "softras, sigma 1e-6": ("softras", {"sigma": 1e-6}),
    "dibr, defaults": ("dibr", {}),
    "mitsuba, matched, 64 samples": ("mitsuba", {"samples": 64, "gradient_samples": 64}),
}
#: The sphere of the tables of sizes: side of the image [px], distance and radius [m], subdivisions.
SIZE, DISTANCE, RADIUS, LEVEL = 240, 3.0, 0.3, 4
#: Relative lengths of finite differences: the best counts, since long ones cross a change of topology.
STEPS = (1e-5, 1e-6, 1e-7, 1e-4)
Table = tuple[list[str], Iterable[list[str]]]


def make_sphere(level: int, dtype: torch.dtype, radius: float = 0.8) -> Surface:
    """An icosphere with random colours."""
    mesh = trimesh.creation.icosphere(level, radius=radius)
    vertices, random = torch.tensor(mesh.vertices, dtype=dtype), torch.Generator().manual_seed(0)
    colours = torch.rand(vertices.shape, generator=random).to(dtype)
    return Surface(vertices[None], torch.tensor(mesh.faces, dtype=torch.int64), colours=colours)


def make_target(label: str, dtype: torch.dtype) -> Surface:
    """The sphere of the tables of sizes."""
    sphere = replace(make_sphere(LEVEL, torch.float64, RADIUS), colours=None)
    if label == AREA:
        wide = match_surface(sphere.vertices[0].numpy(), sphere.faces.numpy(), 4.0 * math.pi * RADIUS**2)
        sphere = replace(sphere, vertices=torch.from_numpy(wide)[None])
    return replace(sphere, vertices=sphere.vertices.to(dtype))


def find_lenses() -> dict[str, tuple[Renderer, torch.dtype]]:
    """The renderers of the tables of sizes that run here, and their best precisions."""
    found = {}
    for label, (name, settings) in LENSES.items():
        if name == "mitsuba":
            from diffloom_render_mitsuba.library import why_unavailable

            reason = why_unavailable()
            if reason is not None:
                print(f"{label}: left out, {reason}")
                continue
        renderer = get_renderer(name)(**settings)
        double = torch.float64 in renderer.capabilities.dtypes
        found[label] = renderer, torch.float64 if double else torch.float32
    return found


def aim(pixels: float, dtype: torch.dtype) -> Camera:
    """A camera before the origin that sees the sphere as a disc of ``pixels``."""
    camera = Camera.look_at((0.0, 0.0, DISTANCE), size=(SIZE, SIZE), dtype=dtype)
    focal = pixels * math.sqrt(DISTANCE**2 - RADIUS**2) / RADIUS
    return replace(camera, focal=torch.full((2,), focal, dtype=dtype))


def table_bias(options: argparse.Namespace) -> Table:
    """Drawn radius over true radius."""

    def row(label: str, renderer: Renderer, dtype: torch.dtype) -> list[str]:
        surface, cells = make_target(label, dtype), []
        for pixels in options.radii:
            alpha = renderer.render(surface, aim(pixels, dtype), outputs=("silhouette",)).silhouette
            cells.append(f"{math.sqrt(float(alpha.double().sum()) / math.pi) / pixels:.4f}")
        return [label, *cells]

    return ["drawn by", *(f"{r:g} px" for r in options.radii)], (row(k, *v) for k, v in find_lenses().items())


def table_slopes(options: argparse.Namespace) -> Table:
    """Found over analytic derivative of the area pi f^2 R^2 / (d^2 - R^2) by R."""

    def row(label: str, renderer: Renderer, dtype: torch.dtype) -> list[str]:
        surface, cells = make_target(label, dtype), []
        for pixels in options.radii:
            camera, grown = aim(pixels, dtype), torch.ones((), dtype=dtype, requires_grad=True)
            moved = replace(surface, vertices=surface.vertices * grown)
            alpha = renderer.render(moved, camera, outputs=("silhouette",)).silhouette
            found = float(torch.autograd.grad(alpha.sum(), grown)[0]) / RADIUS
            focal = float(camera.focal[0])
            true = 2.0 * math.pi * focal**2 * RADIUS * DISTANCE**2 / (DISTANCE**2 - RADIUS**2) ** 2
            cells.append(f"{found / true:.4f}")
        return [label, *cells]

    return ["drawn by", *(f"{r:g} px" for r in options.radii)], (row(k, *v) for k, v in find_lenses().items())


def compare_scene(seed: int) -> dict[str, float]:
    """Difference between adjoint and central differences along a random direction of each input, relative to the length
    of the gradient by that input."""
    scene, renderer = make_occluded(seed), get_renderer("coverage")(background=(0.2, 0.3, 0.5))
    view = Camera.look_at((0.2, 0.5, 3.0), (0.0, 0.0, 0.0), fov=45.0, size=(14, 18), far=10.0, dtype=torch.float64)
    random = torch.Generator().manual_seed(seed)
    weights = {name: torch.randn((14, 18), generator=random, dtype=torch.float64) for name in ("rgba", "depth")}

    def loss(vertices, colours, eye, focal):
        image = renderer.render(
            replace(scene, vertices=vertices, colours=colours), replace(view, eye=eye, focal=focal),
            outputs=("rgba", "depth"),
        )  # fmt: skip
        return (image.rgba * weights["rgba"][..., None]).sum() + (image.depth * weights["depth"]).sum()

    given = {"vertices": scene.vertices, "colours": scene.colours, "eye": view.eye, "focal": view.focal}
    leaves = {name: value.clone().requires_grad_() for name, value in given.items()}
    lengths = [float(g.norm()) for g in torch.autograd.grad(loss(**leaves), list(leaves.values()))]
    best = dict.fromkeys(given, math.inf)
    for step in STEPS:
        for found, length in zip(compare_gradient(loss, given, step=step, directions=1), lengths, strict=True):
            best[found.name] = min(best[found.name], abs(found.autograd - found.differences) / length)
    return best


def table_gradients(options: argparse.Namespace) -> Table:
    """The worst of all scenes, by input."""
    found = [compare_scene(seed) for seed in range(options.scenes)]
    head = ["input", "worst", "median", "above 1e-6"]

    def row(name: str) -> list[str]:
        errors = sorted(each[name] for each in found)
        over = sum(error > 1e-6 for error in errors)
        return [name, f"{errors[-1]:.1e}", f"{errors[len(errors) // 2]:.1e}", f"{over} of {len(errors)}"]

    return head, (row(name) for name in found[0])


def time_once(renderer: Renderer, surface: Surface, camera: Camera, output: str) -> tuple[float, float]:
    """Seconds forward, and with gradient."""
    moved = replace(surface, vertices=surface.vertices.clone().requires_grad_())
    begin = time.process_time()
    image = getattr(renderer.render(moved, camera, outputs=(output,)), output)
    middle = time.process_time()
    image.backward(torch.full_like(image, 0.1))
    return middle - begin, time.process_time() - begin


def table_speed(options: argparse.Namespace) -> Table:
    """Times, and those of coverage over those of softras."""
    set_num_threads(1)
    torch.set_num_threads(1)

    def row(output: str, level: int, size: int) -> list[str]:
        surface = replace(
            make_sphere(level, torch.float32), material=Material("phong" if output == "rgba" else "unlit")
        )
        camera, best = Camera.orbit(3.0, size=(size, size)), dict.fromkeys(RENDERERS, (math.inf, math.inf))
        for _ in range(options.repeats):
            for name, settings in RENDERERS.items():
                taken = time_once(get_renderer(name)(**settings), surface, camera, output)
                best[name] = tuple(map(min, best[name], taken))
        ours, theirs = best["coverage"], best["softras"]
        cells = [f"{1e3 * a:.2f} / {1e3 * b:.2f}" for a, b in best.values()]
        ratio = f"{ours[0] / theirs[0]:.2f} / {ours[1] / theirs[1]:.2f}"
        return [output, str(len(surface.faces)), str(size), *cells, ratio]

    cases = ((o, n, s) for o in options.outputs for n in options.levels for s in options.sizes)
    return ["output", "faces", "px", *RENDERERS, "coverage over softras"], (row(*case) for case in cases)


TABLES = {"bias": table_bias, "slopes": table_slopes, "gradients": table_gradients, "speed": table_speed}


def print_table(head: list[str], rows: Iterable[list[str]]) -> str:
    """Print a table row by row; return it."""
    lines = []
    for row in chain([head, ["---"] * len(head)], rows):
        lines.append("| " + " | ".join(row) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def write_table(page: Path, name: str, table: str) -> None:
    """Put a table between the marks of its name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", choices=TABLES)
    parser.add_argument("--write", type=Path, help="page whose tables are replaced")
    parser.add_argument("--radii", type=float, nargs="+", default=[1.5, 3.0, 4.4, 9.0, 17.0, 100.0])
    parser.add_argument("--scenes", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--levels", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--outputs", nargs="+", default=["silhouette", "rgba"])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    for name in options.tables:
        print(f"\n{name}")
        table = print_table(*TABLES[name](options))
        if options.write:
            write_table(options.write, name, table)


if __name__ == "__main__":
    main()
