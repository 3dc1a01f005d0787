"""The image of worlds: the four experiments in time. Run from the repository: python docs/images/worlds_sheet.py"""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from diffloom.interfaces import NoGradient
from diffloom_experiments import build_scene, load_file

ROOT = Path(__file__).resolve().parents[2]
SIZE = [132, 192]
ROWS = {
    "ball-on-cloth": (0.0, 0.15, 0.22, 0.3, 0.45),
    "jelly-and-brick": (0.0, 0.06, 0.11, 0.18, 0.4),
    "billiards": (0.0, 0.18, 0.25, 0.4, 0.65),
    "stack": (0.0, 0.5, 1.0, 2.5, 5.0),
}
CHANGES = {
    "camera.size": SIZE,
    "camera.fov": 42.0,
    "renderer": {"name": "dibr", "dibr": {"sigmainv": 1e5, "background": [1.0, 1.0, 1.0]}},
    "lights": [
        {"kind": "ambient", "colour": 0.55},
        {"kind": "directional", "direction": [0.4, 1.0, 0.6], "diffuse": 0.55},
    ],
    "appearance.shading": "lambert",
}
TRUTH = {"billiards": {"cue_rack.restitution": 0.85, "cue_rack.friction": 0.3}}


def row(name: str, times: tuple[float, ...]) -> np.ndarray:
    """Frames of one experiment beside each other."""
    changes = CHANGES if name != "stack" else {**CHANGES, "time.dt": "1/4000"}
    scene = build_scene(load_file(ROOT / "experiments" / f"{name}.toml", changes=changes))
    values = {key: torch.tensor(value, dtype=torch.float64) for key, value in TRUTH.get(name, {}).items()}
    view = scene.render(values, torch.tensor(times, dtype=torch.float64), gradient=NoGradient())
    assert view.image is not None
    return np.concatenate(list(view.image.bytes()[..., :3].numpy()), axis=1)


if __name__ == "__main__":
    with torch.no_grad():
        sheet = np.concatenate([row(name, times) for name, times in ROWS.items()])
    Image.fromarray(sheet).save(ROOT / "docs" / "images" / "worlds.png", optimize=True)
