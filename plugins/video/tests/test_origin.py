"""Origin of a video: every file is a recording, under any name."""

from pathlib import Path

import torch
from PIL import Image

from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import Orbit, Scene, Target, synthesise
from diffloom_fitting.fits import observe_iteration
from diffloom_video import read_video


def _scene() -> Scene:
    box = get_model("rigid")([{"shape": "box"}], ground=False)
    return Scene(box, get_renderer("softras")(), Orbit(5.0, size=(16, 16)), box.params(torch.float64), 1 / 60, 6)


def _write(path: Path, target: Target) -> Path:
    path.mkdir()
    assert target.frames is not None
    for number, frame in enumerate(target.frames[..., :3]):
        pixels = (255.0 * frame).round().to(torch.uint8).numpy()
        Image.fromarray(pixels).save(path / f"{number:03d}.png")
    return path


def test_a_synthesised_video_is_known_by_its_origin_in_memory():
    scene = _scene()
    made = synthesise(scene, {"velocity": [0.0, 1.0, 0.0]}, rate=30)
    assert made.synthetic
    assert made.select([0, 1]).synthetic, "its parts too"
    assert observe_iteration(scene, scene.render({"velocity": [0.0, 1.0, 0.0]}, [0.0, 0.05])).synthetic
    assert not Target(made.times, made.frames, source="synthesised with SoftRasRenderer").synthetic


def test_the_name_of_a_file_grants_nothing(tmp_path: Path):
    made = synthesise(_scene(), {"velocity": [0.0, 1.0, 0.0]}, rate=30)
    for name in ("synthesised", "clip"):
        assert not read_video(_write(tmp_path / name, made), rate=30).synthetic
