"""Time of the soft rasterizer, native and, where it can be imported, PyTorch3D itself.

    python benchmarks/softras.py                        # silhouettes and Phong colours, 64 to 256 px, 80 to 5120 faces
    python benchmarks/softras.py --sizes 64 --levels 1 2 --kinds silhouette

A sphere in the middle of the image, sigma = gamma = 1e-4, 50 faces at a pixel, float32. Times are the best of several
runs, in milliseconds, the two libraries in turns; "per" is nanoseconds of forward and backward for each fragment (a
pixel and a face within its reach).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import AmbientLight, Camera, Material, PointLight, Surface
from diffloom_kernels import num_threads, set_num_threads
from diffloom_render_softras.pytorch3d_backend import why_unavailable
from diffloom_render_softras.renderer import SoftRasRenderer

KEPT = 50
LAMP = (1.5, 2.0, 2.5)


def middle(points: list[np.ndarray], known: dict[tuple[int, int], int], a: int, b: int) -> int:
    """The point half way between two, made once."""
    key = (min(a, b), max(a, b))
    if key not in known:
        known[key] = len(points)
        points.append(points[a] + points[b])
    return known[key]


def icosphere(level: int) -> tuple[Tensor, Tensor]:
    """Unit sphere of 20 x 4^level faces."""
    g = (1 + 5**0.5) / 2
    vertices = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g)]
    vertices += [(g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]
    points = [np.array(v, float) for v in vertices]
    faces = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6)]
    faces += [(7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10)]
    faces += [(8, 6, 7), (9, 8, 1)]
    for _ in range(level):
        known: dict[tuple[int, int], int] = {}

        halves = [(f, [middle(points, known, f[k], f[(k + 1) % 3]) for k in range(3)]) for f in faces]
        faces = [t for (a, b, c), (d, e, f) in halves for t in ((a, d, f), (b, e, d), (c, f, e), (d, e, f))]
        points = [p / np.linalg.norm(p) for p in points]
    unit = np.stack([p / np.linalg.norm(p) for p in points])
    return torch.tensor(unit, dtype=torch.float32), torch.tensor(faces)


def native(kind: str, vertices: Tensor, faces: Tensor, size: int, kept: int | None) -> Callable[[], Tensor]:
    """A function that renders to a tensor of pixels."""
    camera = Camera.look_at((0.0, 0.0, 2.7), size=(size, size), near=1.0, far=100.0)
    renderer = SoftRasRenderer(faces_per_pixel=kept)
    colours = torch.full_like(vertices, 0.6)
    lights = (AmbientLight(0.4), PointLight(LAMP, 0.5, 0.2))

    def run() -> Tensor:
        surface = Surface(vertices[None], faces, colours, material=Material("phong", shininess=16.0))
        if kind == "silhouette":
            alpha = renderer.render(surface, camera, outputs=("silhouette",)).silhouette
            assert alpha is not None
            return alpha
        return renderer.render(surface, camera, lights).rgb

    return run


def pytorch3d(kind: str, vertices: Tensor, faces: Tensor, size: int) -> Callable[[], Tensor]:
    """Draw the scene by PyTorch3D's own renderer and shaders."""
    from pytorch3d import renderer as lib
    from pytorch3d.structures import Meshes

    rotation, shift = lib.look_at_view_transform(2.7, 0.0, 0.0)
    cameras = lib.FoVPerspectiveCameras(R=rotation, T=shift)
    settings = lib.RasterizationSettings(size, blur_radius=float(np.log(1 / 1e-4 - 1) * 1e-4), faces_per_pixel=KEPT)
    blend = lib.BlendParams(sigma=1e-4, gamma=1e-4, background_color=(0.0, 0.0, 0.0))
    lights = lib.PointLights(
        ambient_color=((0.4,) * 3,), diffuse_color=((0.5,) * 3,), specular_color=((0.2,) * 3,), location=(LAMP,)
    )
    shader = lib.SoftSilhouetteShader(blend)
    if kind == "colour":
        materials = lib.Materials(shininess=16.0)
        shader = lib.SoftPhongShader(cameras=cameras, lights=lights, materials=materials, blend_params=blend)
    draw = lib.MeshRenderer(lib.MeshRasterizer(cameras, settings), shader)
    colours = torch.full_like(vertices, 0.6)

    def run() -> Tensor:
        rgba = draw(Meshes([vertices], [faces], lib.TexturesVertex([colours])))
        return rgba[..., 3] if kind == "silhouette" else rgba[..., :3]

    return run


#: Wall time; processor time where the machine is busy with other things and only one thread is used.
clock = time.perf_counter


def best(run: Callable[[], Tensor], vertices: Tensor, budget: float, most: int) -> tuple[float, float, Tensor]:
    """Least seconds of forward, and of forward and backward of a squared loss; and the pixels."""
    forward = both = float("inf")
    started = time.perf_counter()
    for _ in range(most):
        vertices.grad = None
        t0 = clock()
        pixels = run()
        t1 = clock()
        (pixels - 0.5).square().mean().backward()
        t2 = clock()
        forward, both = min(forward, t1 - t0), min(both, t2 - t0)
        if time.perf_counter() - started > budget:
            break
    return forward, both, pixels.detach()


def fragments(vertices: Tensor, faces: Tensor, size: int) -> tuple[float, int]:
    """Mean number of faces within reach of a covered pixel, and of covered pixels."""
    from diffloom_raster import find_whole_layout, read_camera
    from diffloom_render_softras.drawing import find_plan, prepare
    from diffloom_render_softras.native import read_softness

    camera = Camera.look_at((0.0, 0.0, 2.7), size=(size, size), near=1.0, far=100.0)
    points = vertices.detach()[None]
    soft = read_softness(SoftRasRenderer(faces_per_pixel=10**6), camera)
    plan = find_plan(find_whole_layout(faces, points, camera, "auto"), soft, camera.far)
    _, coverage = prepare(plan, points, read_camera(camera)).cover(depths=False)
    hits = coverage.hits
    return float(hits[hits > 0].mean()), int((hits > 0).sum())


def compare(kind: str, size: int, level: int, budget: float, library: bool) -> tuple[float, float]:
    """Print one line; fragments, and seconds of forward and backward."""
    vertices, faces = icosphere(level)
    vertices.requires_grad_()
    mean, covered = fragments(vertices, faces, size)
    ours = native(kind, vertices, faces, size, KEPT)
    ours().sum().backward()
    times = best(ours, vertices, 0.3 * budget, 200)
    gradient = None if vertices.grad is None else vertices.grad.clone()
    free = best(native(kind, vertices, faces, size, None), vertices, 0.2 * budget, 200)
    per = 1e9 * times[1] / (mean * covered)
    line = f"{kind:10s} {size:4d} px {len(faces):5d} faces {covered:6d} px x {mean:5.1f} faces"
    line += f"  forward {1e3 * times[0]:8.3f}  both {1e3 * times[1]:8.3f} ms ({1e3 * free[1]:8.3f} with all faces)"
    line += f"  per {per:6.2f} ns"
    if library:
        theirs = best(pytorch3d(kind, vertices, faces, size), vertices, budget, 3)
        again = best(ours, vertices, 0.3 * budget, 200)
        fast = min(times[0], again[0]), min(times[1], again[1])
        line += f"  pytorch3d {1e3 * theirs[0]:9.1f} {1e3 * theirs[1]:9.1f} ms"
        line += f"  ratio forward {theirs[0] / fast[0]:6.1f}  both {theirs[1] / fast[1]:6.1f}"
        line += f"  pixels differ {float((theirs[2] - times[2]).abs().max()):.1e}"
    assert gradient is not None
    assert bool(torch.isfinite(gradient).all())
    print(line, flush=True)
    return mean * covered, times[1]


def growth(kind: str, measured: list[tuple[float, float]]) -> None:
    """Print the line a + b x fragments that is nearest to the times, all of them weighing the same."""
    fragments, seconds = np.array(measured).T
    (start, each), *_ = np.linalg.lstsq(np.stack([1.0 / seconds, fragments / seconds], 1), np.ones(len(seconds)))
    worst = np.abs((start + each * fragments) / seconds - 1.0).max()
    print(f"{kind}: about {1e3 * start:.2f} ms and {1e9 * each:.1f} ns for each fragment, within {100 * worst:.0f} %")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256], help="pixels along a side")
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3, 4], help="20 x 4^level faces")
    parser.add_argument("--kinds", nargs="+", default=["silhouette", "colour"], choices=["silhouette", "colour"])
    parser.add_argument("--threads", type=int, default=None, help="threads of the native back end")
    parser.add_argument("--budget", type=float, default=3.0, help="seconds for each measurement")
    parser.add_argument("--no-pytorch3d", action="store_true", help="leave PyTorch3D out though it is installed")
    parser.add_argument("--processor-time", action="store_true", help="on a busy machine: one thread, processor time")
    options = parser.parse_args(arguments)
    if options.processor_time:
        options.threads = 1
        global clock
        clock = time.process_time
    if options.threads:
        set_num_threads(options.threads)
        torch.set_num_threads(options.threads)
    reason = why_unavailable()
    library = reason is None and not options.no_pytorch3d
    print(f"{num_threads()} threads; PyTorch3D: {'measured too' if library else reason or 'left out'}")
    for kind in options.kinds:
        cases = [(size, level) for size in options.sizes for level in options.levels]
        measured = [compare(kind, *case, options.budget, library) for case in cases]
        if len(measured) > 2:
            growth(kind, measured)


if __name__ == "__main__":
    main()
