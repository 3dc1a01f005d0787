"""Make docs/images/hero.webp: a video, the guess after each iteration of its fit, and the fit, in a loop.

The fit is given the mattes of the video at a quarter of its size, and draws with exact coverage. All panels have
ground, light and shadow:

python tools/hero.py

With --mitsuba Mitsuba traces the light of all panels, which takes longer (`pip install "diffloom[mitsuba]"`).
"""

import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom.interfaces import AmbientLight, DirectionalLight
from diffloom_studio import draw_on_ground

PLACE = Path(__file__).resolve().parents[1] / "docs" / "images" / "hero.webp"
SIZE, FOOT, GAP = 320, 56, 6  # panel, caption and gap [px]
FRAMES, RATE = 24, 25  # frames of the clip, and their number per second
TRUTH = {"shear_modulus": 3e4, "velocity": [1.35, 0.5, 0.2]}
START = {"shear_modulus": 1e4, "velocity": [0.8, 0.2, 0.0]}
SHOWN = (0, 1, 3, 9, 11, -1)  # records of which the middle panel shows the guess
INK, SOFT = (27, 39, 51), (93, 107, 122)


def make_scene(renderer, size, dtype=torch.float32):
    """Return a jelly gear that is thrown and bounces."""
    gear = get_model("fem")("gear", radius=0.34, width=0.2, teeth=9, contact="linear")
    view = fitting.Orbit(distance=2.45, elevation=27, azimuth=12, target=(-0.05, 0.42, 0.0), fov=48, size=(size, size))
    known = {
        "position": [-0.85, 0.75, 0.0], "angular_velocity": [0.0, 0.0, -3.0], "density": 100.0, "damping": 20.0,
        "lame_modulus": 2e4, "contact_stiffness": 3e3, "contact_damping": 3.0, "friction": 0.6,
    }  # fmt: skip
    look = fitting.Appearance(pattern="position", shading="phong", ambient=0.75, diffuse=0.85)
    white = torch.ones(3, dtype=dtype)
    sun = DirectionalLight(torch.tensor([0.5, 1.0, 0.65], dtype=dtype), diffuse=0.8 * white, specular=0.2 * white)
    lights = (AmbientLight(0.5 * white), sun)
    params = gear.params(dtype, **known)
    return fitting.Scene(gear, renderer, view, params, dt=5e-4, steps=2000, appearance=look, lights=lights)


def main(traced: bool) -> None:
    """Draw the video, fit it, draw the fit, and write the loop."""
    traced_light = {"mode": "photorealistic", "samples": 60, "ground": 0.0, "ground_colour": (0.66, 0.70, 0.76)}
    drawn = make_scene(get_renderer("mitsuba")(**traced_light) if traced else get_renderer("coverage")(), SIZE)
    times = torch.arange(FRAMES) / RATE
    video = draw(drawn, TRUTH, times)
    scene = make_scene(get_renderer("coverage")(), SIZE // 4, torch.float64)
    mattes = scene_matte(drawn, TRUTH, times)
    masks = mattes.unflatten(1, (-1, 4)).unflatten(3, (-1, 4)).mean(dim=(2, 4))
    guesses = []
    search, rest = fitting.GaussNewton(), fitting.Stop(change=1e-2, patience=2)
    stages = (
        fitting.Stage(search, 6, only=("velocity",), horizon=fitting.Schedule(0.15, 0.4, "steps", over=0.7, count=3)),
        fitting.Stage(search, 20, horizon=fitting.Schedule(0.5, 1.0, "steps", over=0.6, count=4), stop=rest),
    )
    target = fitting.Target(times.double(), masks=masks.double())
    experiment = fitting.Experiment(scene, target, START, fitting.SilhouetteError(), stages)
    found = fitting.run_fit(experiment, observer=lambda _, record: guesses.append((record.total, record.values)))
    print(found)
    passes = [guesses[k] for k in SHOWN]
    last = {e.name: e.found for e in found.estimates}
    fit = caption(draw(drawn, last, times), f"fit after {found.iterations} iterations", tell(last))
    wanted = caption(video, "video", "all that the fit is given")
    loop = []
    for k, values in passes:
        guess = caption(draw(drawn, values, times), f"guess, iteration {k}", tell(values))
        loop += join(wanted, guess, fit)
    write(loop)


def draw(scene, values, times):
    """Return frames (frames, height, width, 3) on a ground."""
    if not scene.renderer.owns_background:
        return draw_on_ground(scene, times, values)
    return render(scene, values, times)[..., :3]


def scene_matte(scene, values, times):
    """Return the mattes (frames, height, width) of the body."""
    return render(scene, values, times)[..., 3]


def render(scene, values, times):
    """Return frames (frames, height, width, 4)."""
    with torch.no_grad():
        return scene.render(dict(values), times, ("rgba",)).image.rgba


def tell(values) -> str:
    """Return the values in words."""
    speed = ", ".join(f"{float(v):.2f}" for v in torch.as_tensor(values["velocity"]))
    return f"{float(torch.as_tensor(values['shear_modulus'])) / 1e3:.2f} kPa, thrown at ({speed}) m/s"


def caption(frames, title: str, text: str) -> np.ndarray:
    """Return a panel's frames in bytes, with two lines of text below."""
    foot = Image.new("RGB", (SIZE, FOOT), "white")
    pen = ImageDraw.Draw(foot)
    pen.text((4, 6), title, fill=INK, font=ImageFont.load_default(size=17))
    pen.text((4, 30), text, fill=SOFT, font=ImageFont.load_default(size=14))
    pixels = (frames[..., :3].clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    return np.concatenate([pixels, np.broadcast_to(np.asarray(foot), (len(pixels), FOOT, SIZE, 3))], axis=1)


def join(*panels: np.ndarray) -> list[Image.Image]:
    """Return images of all panels side by side; the last one rests for a moment."""
    gap = np.full((*panels[0].shape[:2], GAP, 3), 255, dtype=np.uint8)
    wide = np.concatenate([panels[0], *(part for panel in panels[1:] for part in (gap, panel))], axis=2)
    return [Image.fromarray(frame) for frame in wide]


def write(loop: list[Image.Image]) -> None:
    """Write the loop as an animated WebP."""
    durations = [1000 // RATE] * len(loop)
    durations[FRAMES - 1 :: FRAMES] = [500] * (len(loop) // FRAMES)
    loop[0].save(PLACE, save_all=True, append_images=loop[1:], duration=durations, loop=0, quality=62, method=6)
    print(f"{PLACE.name}: {PLACE.stat().st_size / 1e6:.2f} MB, {len(loop)} frames")


if __name__ == "__main__":
    main("--mitsuba" in sys.argv)
