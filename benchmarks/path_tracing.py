"""Mitsuba: processor time of a frame, forward and with its gradient, beside the native soft rasterizer.

python benchmarks/path_tracing.py
"""

from __future__ import annotations

import time
from typing import Any

import torch

from diffloom import get_renderer
from diffloom.interfaces import Camera, Surface
from diffloom.plugins import get_model
from diffloom_fitting import Appearance


def ball(layers: int) -> Surface:
    """A ball of triangles, lit."""
    model = get_model("fem")("ball", radius=0.6, layers=layers)
    params = model.params()
    from diffloom import simulate

    bare = model.surface(simulate(model, params, dt=1e-4, steps=1, save=(1,)), params)
    return Appearance(pattern="position", shading="lambert").apply(bare, bare.vertices[0])


def seconds(renderer: Any, surface: Surface, camera: Camera, gradient: bool) -> float:
    """Best of five, after a first that compiles."""
    best = float("inf")
    for _ in range(6):
        vertices = surface.vertices.clone().requires_grad_(gradient)
        begin = time.process_time()
        found = renderer.render(Surface(vertices, surface.faces, surface.colours, material=surface.material), camera)
        if gradient:
            found.rgba.square().mean().backward()
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    torch.set_num_threads(1)
    mitsuba = get_renderer("mitsuba")
    surface = ball(3)
    print(f"{surface.vertices.shape[1]} vertices, {len(surface.faces)} faces; ms of one frame\n")
    print("| | 64 px | 64 px, with gradient | 128 px | 128 px, with gradient |\n|---|---|---|---|---|")
    rows = {
        "softras, native": get_renderer("softras")(),
        "mitsuba, matched, 16 samples": mitsuba(),
        "mitsuba, photorealistic, 64 samples": mitsuba(mode="photorealistic", samples=64, ground=-0.6),
    }
    for name, renderer in rows.items():
        cells = []
        for size in (64, 128):
            camera = Camera.orbit(2.5, 20.0, size=(size, size))
            for gradient in (False, True):
                able = not gradient or bool(renderer.capabilities.gradients)
                cells.append(f"{1e3 * seconds(renderer, surface, camera, gradient):.1f}" if able else "-")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
