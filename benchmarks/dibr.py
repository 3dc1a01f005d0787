"""Speed of DIB-R beside the soft rasteriser: forward and backward, in one process, turn by turn.

    python benchmarks/dibr.py [--sizes 64 128 256] [--levels 1 2 3 4] [--frames 4] [--shading unlit phong] [--repeats 7]

Level n is an icosphere of 20 x 4^n faces. Times are the best of the repeats, in milliseconds per frame; --clock cpu
counts the process's own time, which on a busy machine says more than the wall's.
"""

from __future__ import annotations

import argparse
import time

import torch
import trimesh

from diffloom.interfaces import Camera, Material, Renderer, Surface
from diffloom.plugins import get_renderer


def scene(level: int, size: int, frames: int, shading: str) -> tuple[Surface, Camera]:
    mesh = trimesh.creation.icosphere(level)
    vertices = torch.tensor(mesh.vertices, dtype=torch.float32)
    drift = torch.linspace(0.0, 0.3, frames)[:, None, None]
    random = torch.Generator().manual_seed(0)
    colours = torch.rand(vertices.shape, generator=random).requires_grad_()
    surface = Surface(
        (vertices[None] + drift).requires_grad_(),
        torch.tensor(mesh.faces, dtype=torch.int64),
        colours=colours,
        material=Material(shading),
    )
    return surface, Camera.look_at((0.0, 0.4, 2.9), fov=50.0, size=(size, size))


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def once(renderer: Renderer, surface: Surface, camera: Camera, clock: str) -> tuple[float, float]:
    """Seconds forward and backward."""
    begin = CLOCKS[clock]()
    image = renderer.render(surface, camera).rgba
    middle = CLOCKS[clock]()
    image.backward(torch.full_like(image, 0.1))
    return middle - begin, CLOCKS[clock]() - middle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--frames", type=int, default=4)
    parser.add_argument("--shading", nargs="+", default=["unlit", "phong"])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--target", default="auto")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args()
    renderers = {name: get_renderer(name)(target=options.target) for name in ("dibr", "softras")}
    parts = f"{'fwd':>7}{'bwd':>7}"
    print(f"{'shading':8}{'faces':>6}{'px':>5} | {'dibr':>7}{parts} | {'softras':>8}{parts} | ratio")
    for shading in options.shading:
        for level in options.levels:
            for size in options.sizes:
                surface, camera = scene(level, size, options.frames, shading)
                best = {name: (float("inf"), float("inf")) for name in renderers}
                for _ in range(options.repeats):
                    for name, renderer in renderers.items():
                        taken = once(renderer, surface, camera, options.clock)
                        best[name] = tuple(map(min, best[name], taken))
                rows = {name: [1e3 * t / options.frames for t in times] for name, times in best.items()}
                ours, theirs = rows["dibr"], rows["softras"]
                print(
                    f"{shading:8}{surface.faces.shape[0]:6}{size:5} | {sum(ours):7.2f}{ours[0]:7.2f}{ours[1]:7.2f} | "
                    f"{sum(theirs):8.2f}{theirs[0]:7.2f}{theirs[1]:7.2f} | {sum(ours) / sum(theirs):5.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
