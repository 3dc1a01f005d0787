"""A small box on a coarse sheet, in time. Run from the repository: python docs/images/box_on_sheet.py"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from diffloom.interfaces import NoGradient
from diffloom_experiments import build_scene
from diffloom_experiments.load import load_data

ROOT = Path(__file__).resolve().parents[2]
BOX = {"shape": "box", "size": [0.07, 0.07, 0.07], "mass": 0.03, "position": [0.12, 0.08, 0.07]}
BOX |= {"orientation": [0.9, 0.3, 0.1, 0.2]}
SHEET = {"name": "cloth", "mesh": {"shape": "grid", "cells": [4, 4], "size": [0.8, 0.8]}}
SHEET |= {"pins": ["left", "right", "top", "bottom"]}
BLUE, LIGHT = np.array([0.25, 0.45, 0.85]), np.array([0.75, 0.85, 1.0])
CHECKS = np.where((np.indices((64, 64)) // 8).sum(axis=0)[..., None] % 2, BLUE, LIGHT)
SCENE = {
    "precision": "float64",
    "bodies": [
        {
            "name": "ball",
            "model": {"name": "rigid", "bodies": [BOX], "ground": False},
            "colour": [0.9, 0.4, 0.2],
            "material": {"ambient": 0.8, "specular": 0.1},
        },
        {"name": "sheet", "model": SHEET, "texture": "checks.png", "material": {"shading": "lambert"}},
    ],
    "params": {"sheet": {"density": 0.4, "shear_modulus": 300.0, "lame_modulus": 300.0, "damping": 0.5}},
    "time": {"dt": 5e-5, "duration": 0.3},
    "camera": {"distance": 1.22, "elevation": 30, "azimuth": 20, "size": [132, 192], "fov": 42.0},
    "lights": [
        {"kind": "ambient", "colour": 0.55},
        {"kind": "directional", "direction": [0.4, 1.0, 0.6], "diffuse": 0.55},
    ],
    "renderer": {"name": "dibr", "dibr": {"sigmainv": 1e5, "background": [1.0, 1.0, 1.0]}},
}
TIMES = (0.0, 0.08, 0.13, 0.2, 0.3)

if __name__ == "__main__":
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        Image.fromarray((255.0 * CHECKS).astype(np.uint8)).save(Path(folder) / "checks.png")
        scene = build_scene(load_data(SCENE, Path(folder), "box_on_sheet.toml"))
        view = scene.render({}, torch.tensor(TIMES, dtype=torch.float64), gradient=NoGradient())
    assert view.image is not None
    sheet = np.concatenate(list(view.image.bytes()[..., :3].numpy()), axis=1)
    Image.fromarray(sheet).save(ROOT / "docs" / "images" / "box_on_sheet.png", optimize=True)
