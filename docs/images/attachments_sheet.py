"""The image of attachments: a curtain on a rod that moves, with a ball on a spring that a force drives; and a small box
on a coarse sheet. Run from the repository: python docs/images/attachments_sheet.py"""

import math
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from diffloom.interfaces import NoGradient
from diffloom_fitting.files import build_scene, load_data

ROOT = Path(__file__).resolve().parents[2]
BACKGROUND = [1.0, 1.0, 1.0]
LIGHTS = [
    {"kind": "ambient", "colour": 0.55},
    {"kind": "directional", "direction": [0.4, 1.0, 0.6], "diffuse": 0.55},
]
COMMON = {
    "precision": "float64",
    "lights": LIGHTS,
    "appearance": {"shading": "lambert"},
    "renderer": {"name": "dibr", "dibr": {"sigmainv": 1e5, "background": BACKGROUND}},
}
ROD = {"shape": "box", "size": [0.7, 0.03, 0.03], "mass": 0.3, "position": [0.0, 0.6, 0.0]}
BALL = {"shape": "sphere", "radius": 0.07, "mass": 0.1, "position": [0.25, 0.25, 0.1]}
CLOTH = {
    "shape": "grid",
    "cells": [10, 8],
    "size": [0.5, 0.4],
    "position": [-0.05, 0.38, 0.0],
    "normal": [0.0, 0.0, 1.0],
}
CURTAIN = {
    "bodies": [
        {"name": "rod", "model": {"name": "rigid", "bodies": [ROD], "ground": False}, "colour": [0.45, 0.3, 0.2]},
        {"name": "ball", "model": {"name": "rigid", "bodies": [BALL], "ground": False}, "colour": [0.9, 0.4, 0.2]},
        {"name": "curtain", "model": {"name": "cloth", "mesh": CLOTH}, "colour": [0.25, 0.45, 0.85]},
    ],
    "contacts": [
        {"between": [a, b], "touch": False} for a, b in (("rod", "ball"), ("rod", "curtain"), ("ball", "curtain"))
    ],
}
SMALL = {"shape": "box", "size": [0.07, 0.07, 0.07], "mass": 0.03, "position": [0.12, 0.08, 0.07]}
SMALL |= {"orientation": [0.9, 0.3, 0.1, 0.2]}
SHEET = {"name": "cloth", "mesh": {"shape": "grid", "cells": [4, 4], "size": [0.8, 0.8]}}
SHEET |= {"pins": ["left", "right", "top", "bottom"]}
ON_SHEET = {
    "bodies": [
        {"name": "ball", "model": {"name": "rigid", "bodies": [SMALL], "ground": False}, "colour": [0.9, 0.4, 0.2]},
        {"name": "sheet", "model": SHEET, "colour": [0.25, 0.45, 0.85]},
    ],
    "params": {"sheet": {"density": 0.4, "shear_modulus": 300.0, "lame_modulus": 300.0, "damping": 0.5}},
    "time": {"dt": 1e-4, "duration": 0.6},
    "camera": {"distance": 1.1, "elevation": 25, "azimuth": 20, "size": [132, 192], "fov": 42.0},
}


def curtain() -> dict[str, object]:
    """The rod goes to the right and back on a path; the upper row of the cloth is held by it."""
    steps, dt = 3000, 3e-4
    times = [0.05 * k for k in range(19)]
    way = [0.2 * math.sin(7.0 * t) for t in times]
    ends = {"left_end": -0.3, "right_end": 0.3}
    paths = [{"name": n, "kind": "path", "body": "rod", "point": [x, 0.0, 0.0], "stiffness": 3000.0, "damping": 20.0,
              "times": times, "places": [[x + w, 0.6, 0.0] for w in way]} for n, x in ends.items()]  # fmt: skip
    top = range(11 * 8, 11 * 9)
    rings = [
        {"name": f"ring{k}", "between": ["curtain", "rod"], "points": [i, [-0.3 + 0.05 * k, -0.02, 0.0]],
         "stiffness": 60.0, "damping": 0.05}
        for k, i in enumerate(top) if k % 2 == 0
    ]  # fmt: skip
    tie = {"name": "tie", "kind": "spring", "between": ["rod", "ball"], "points": [[0.32, 0.0, 0.0], [0.0, 0.07, 0.0]],
           "stiffness": 30.0, "damping": 0.05}  # fmt: skip
    wind = {"name": "wind", "kind": "force", "body": "ball", "point": [0.0, 0.0, 0.0], "force": [0.3, 0.0, 0.2]}
    return {
        **CURTAIN, "attachments": [*paths, *rings, tie, wind],
        "params": {"curtain": {"density": 0.3, "damping": 0.2, "shear_modulus": 100.0, "lame_modulus": 100.0}},
        "time": {"dt": dt, "steps": steps},
        "camera": {"distance": 1.3, "elevation": 5, "azimuth": 15, "target": [0.05, 0.42, 0], "size": [132, 192],
                   "fov": 42},
    }  # fmt: skip


def row(table: dict[str, object], times: tuple[float, ...]) -> np.ndarray:
    """Frames of one scene beside each other."""
    scene = build_scene(load_data({**COMMON, **table}, ROOT, "attachments.toml"))
    view = scene.render({}, torch.tensor(times, dtype=torch.float64), gradient=NoGradient())
    assert view.image is not None
    return np.concatenate(list(view.image.bytes()[..., :3].numpy()), axis=1)


if __name__ == "__main__":
    with torch.no_grad():
        rows = [row(curtain(), (0.0, 0.2, 0.4, 0.6, 0.85)), row(ON_SHEET, (0.0, 0.1, 0.15, 0.25, 0.6))]
    Image.fromarray(np.concatenate(rows)).save(ROOT / "docs" / "images" / "attachments.png", optimize=True)
