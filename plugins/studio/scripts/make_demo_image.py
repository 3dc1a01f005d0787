"""Make docs/images/demo.png from a run of `diffloom demo`: the video, the first guess and the fit, each as one long
exposure of the whole flight.

Run from anywhere:  python plugins/studio/scripts/make_demo_image.py runs/demo
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from diffloom_experiments import build_scene, load_file
from diffloom_video import read_video

ROOT = Path(__file__).parents[3]
DEMO = Path(__file__).parents[1] / "src" / "diffloom_studio" / "demo"
TALL, WIDE, FOOT = 324, 432, 96
EXPOSURES = 5
INK, SOFT, BACK = (236, 240, 246), (152, 164, 182), (10, 13, 20)


def main(run: Path) -> None:
    """Draw the three panels and write the image."""
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    loaded = load_file(DEMO / "demo.toml", changes={"camera.size": [TALL, WIDE]})
    scene = build_scene(loaded)
    video = read_video(DEMO / "clip.mp4", dtype=torch.float64)
    moments = torch.linspace(0, len(video) - 1, EXPOSURES).round().long()
    seen = [Image.fromarray(f).resize((WIDE, TALL), Image.Resampling.BICUBIC) for f in _bytes(video.frames[moments])]
    truth = [
        "made with " + _told(result["estimates"][0], "truth"),
        *(_told(e, "truth") for e in result["estimates"][1:]),
    ]
    panels = [_panel("the video, all that is given", truth, np.stack([np.asarray(image) for image in seen]))]
    for title, kind in (("first guess", "start"), ("found", "found")):
        values = {e["name"]: torch.tensor(e[kind], dtype=torch.float64) for e in result["estimates"]}
        with torch.no_grad():
            view = scene.render(values, video.times[moments])
        told = [_told(e, kind) for e in result["estimates"]]
        head = title if kind == "start" else f"{title} in {result['iterations']} iterations"
        panels.append(_panel(head, told, _bytes(view.image.rgba)))
    place = ROOT / "docs" / "images" / "demo.png"
    Image.fromarray(np.concatenate(panels, axis=1)).save(place, optimize=True)
    print(f"wrote {place}")


def _bytes(frames):
    return (frames[..., :3].clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()


def _told(estimate, kind) -> str:
    value, unit = estimate[kind], estimate["unit"]
    figures = (
        f"({', '.join(f'{v:.3g}' for v in value)})"
        if isinstance(value, list)
        else f"{value:.4g}"
        if value < 1e3
        else f"{value:.0f}"
    )
    name = estimate["name"].replace("_", " ")
    wrong = f", {100 * estimate['error']:.1g} % off" if kind == "found" else ""
    return f"{name} {figures} {unit}".strip() + wrong


def _panel(title: str, lines: list[str], frames) -> np.ndarray:
    """The brightest of all frames at each pixel, with a caption below."""
    canvas = Image.new("RGB", (WIDE, TALL + FOOT), BACK)
    canvas.paste(Image.fromarray(frames.max(axis=0)), (0, 0))
    draw = ImageDraw.Draw(canvas)
    draw.text((14, 10), title, fill=INK, font=ImageFont.load_default(size=21))
    small = ImageFont.load_default(size=17)
    for number, line in enumerate(lines):
        draw.text((14, TALL + 2 + 22 * number), line, fill=SOFT, font=small)
    draw.line([(WIDE - 1, 0), (WIDE - 1, TALL + FOOT)], fill=(60, 66, 78))
    return np.asarray(canvas)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
