"""Fits that once ended with a small ± on a wrong number, with their present output.

python experiments/trust_rows.py              # all that need no recording
python experiments/trust_rows.py --real       # also three arcs of a real ball (DIFFLOOM_REAL_DATA)
python experiments/trust_rows.py --row readme
python experiments/trust_rows.py --deceptions # fits that were green though the user assumed something slightly wrong
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from deception_rows import print_table

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_experiments import build_experiment, load_file
from diffloom_fitting.fits import run_fit
from diffloom_fitting.numbers import format_value, format_with_caveat
from diffloom_studio import demo as bundled
from diffloom_studio.report.media import write_video

FOLDER = Path(__file__).resolve().parent
Found = fitting.Result


def _ball(renderer: str, size: int = 48, distance: float = 2.0, **params: Any) -> fitting.Scene:
    """The README's ball."""
    ball = get_model("fem")("ball", radius=0.3)
    view = fitting.Orbit(distance=distance, elevation=10, size=(size, size), far=2.0 * distance + 100.0)
    given = ball.params(**({"position": [0, 0.5, 0]} | params))
    return fitting.Scene(ball, get_renderer(renderer)(), view, given, dt=1e-3, steps=400)


def readme() -> Found:
    scene = _ball("softras")
    return fitting.fit(scene, fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20), {"shear_modulus": 2e3})


def dibr() -> Found:
    scene = _ball("dibr")
    truth = {"shear_modulus": 4e3, "lame_modulus": 2e4}
    video = fitting.synthesise(scene, truth, rate=20)
    return fitting.fit(scene, video, {"shear_modulus": 3e3, "lame_modulus": 1.5e4})


def beam() -> Found:
    changes = {"stages.0.iterations": 2, "stages.1.iterations": 2}
    return run_fit(build_experiment(load_file(FOLDER / "fem-material.toml", changes=changes)))


def demo() -> Found:
    return run_fit(build_experiment(load_file(Path(bundled.__file__).with_name("demo.toml"), quick=True)))


def flight() -> Found:
    scene = replace(_ball("softras", position=[0, 0.9, 0]), steps=200)  # it falls by 0.2 m and touches nothing
    return fitting.fit(scene, fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20), {"shear_modulus": 2e3})


def far_away() -> Found:
    scene = _ball("softras", distance=5000.0)
    return fitting.fit(scene, fitting.synthesise(scene, {"shear_modulus": 8e4}, rate=20), {"shear_modulus": 3e4})


def _shown(change: Callable[[torch.Tensor], torch.Tensor], count: int | None = None) -> Found:
    scene = _ball("softras")
    video = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
    assert video.frames is not None
    video = replace(video, frames=change(video.frames), masks=None, q=None)
    video = video if count is None else video.select(range(count))
    return fitting.fit(scene, video, {"shear_modulus": 2e3})


def blank() -> Found:
    return _shown(lambda frames: frames[:1, :1, :1].expand_as(frames).clone())


def constant() -> Found:
    return _shown(lambda frames: frames[:1].expand_as(frames).clone())


def single() -> Found:
    return _shown(lambda frames: frames, 1)


def recorded() -> Found:
    """A video from a file, an unknown mass and no [truth]: nothing may be called true."""
    push = {"vertex": 3, "impulse": [2.0, 1.5, -1.0], "start": 0.0, "end": 0.1}
    box = get_model("rigid")([{"shape": "box", "position": [-0.3, 0.0, 0.0]}], ground=False, pushes=[push])
    params = box.params(torch.float64, velocity=[0.2, 2.0, 0.1])
    scene = fitting.Scene(box, get_renderer("softras")(), fitting.Orbit(4.5, 15.0, size=(48, 48)), params, 1 / 120, 60)
    video = fitting.synthesise(scene, {"mass": 4.0}, rate=20)
    assert video.frames is not None
    with tempfile.TemporaryDirectory() as folder:
        write_video(Path(folder) / "clip.mp4", (255 * video.frames[..., :3]).round().to(torch.uint8).numpy(), 20.0)
        found = fitting.fit(scene, Path(folder) / "clip.mp4", {"mass": 3.0})
    assert all(estimate.truth is None for estimate in found.estimates)
    return found


def _arc(variant: str | None) -> Callable[[], Found]:
    def fitted() -> Found:
        variants = [] if variant is None else [variant]
        return run_fit(build_experiment(load_file(FOLDER / "real" / "real-ball.toml", variants=variants)))

    return fitted


ROWS: dict[str, tuple[str, str, Callable[[], Found]]] = {
    "readme": ("the README's snippet (single precision)", "shear_modulus 4000", readme),
    "dibr": ("the same drawn by DIB-R, both moduli", "4000 and 20000", dibr),
    "beam": ("a beam, stopped after 2 iterations of each stage", "1000 and 1000", beam),
    "demo": ("`diffloom demo --quick`", "4000 and 9000", demo),
    "flight": ("a ball in free flight, shear_modulus", "4000, not visible", flight),
    "far_away": ("a camera at 5000 m", "80000", far_away),
    "blank": ("a blank video", "nothing to see", blank),
    "constant": ("a constant video", "nothing to see", constant),
    "single": ("a single frame", "nothing to see", single),
    "recorded": ("a recorded video, mass unknown, no [truth]", "none known to it", recorded),
}
REAL: dict[str, tuple[str, str, Callable[[], Found]]] = {
    "first": ("gravity from the first arc of a real ball", "9.81", _arc(None)),
    "second": ("from its second arc", "9.81", _arc("second")),
    "third": ("from its third arc", "9.81", _arc("third")),
}


def told(found: Found) -> str:
    """The verdict and the numbers of one fit, in a line or a few."""
    numbers = [f"{e.name} {format_with_caveat(format_value(e.found, e.deviation), e.caveat)}" for e in found.estimates]
    return f"{found.verdict.level}: {found.verdict.reasons or 'all four hold'}\n    " + "\n    ".join(numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", choices=[*ROWS, *REAL], help="only these")
    parser.add_argument("--real", action="store_true", help="also the arcs of a recording")
    parser.add_argument("--deceptions", action="store_true", help="the table of slightly wrong assumptions")
    given = parser.parse_args()
    if given.deceptions:
        print_table(lambda line: print(line, flush=True))
        return
    every = ROWS | REAL
    for name in given.row or [*ROWS, *(REAL if given.real else ())]:
        title, truth, fitted = every[name]
        print(f"{title} (truth: {truth})\n  {told(fitted())}", flush=True)


if __name__ == "__main__":
    main()
