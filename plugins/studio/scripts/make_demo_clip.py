"""Make the clip that `diffloom demo` fits: the scene of demo.toml with its true values, drawn larger than the fit sees
it and compressed as a phone would; reading it shrinks it again.

Run from anywhere:  python plugins/studio/scripts/make_demo_clip.py
"""

from pathlib import Path

import torch

from diffloom_experiments import build_scene, load_file
from diffloom_experiments.experiments import build_truth
from diffloom_fitting.targets import synthesise
from diffloom_studio.report.media import write_video

FOLDER = Path(__file__).parents[1] / "src" / "diffloom_studio" / "demo"
RATE = 50
FINER = 3


def main() -> None:
    """Draw and write the clip."""
    plain = load_file(FOLDER / "demo.toml").content.camera.size
    large = [FINER * n for n in plain]
    loaded = load_file(FOLDER / "demo.toml", changes={"camera.size": large})
    scene = build_scene(loaded)
    times = torch.arange(int(scene.steps * scene.dt * RATE) + 1, dtype=torch.float64) / RATE
    video = synthesise(scene, build_truth(loaded, scene), times)
    assert video.frames is not None
    pixels = (video.frames[..., :3].clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)
    write_video(FOLDER / "clip.mp4", pixels.numpy(), RATE)
    print(f"wrote {len(pixels)} frames to {FOLDER / 'clip.mp4'}")


if __name__ == "__main__":
    main()
