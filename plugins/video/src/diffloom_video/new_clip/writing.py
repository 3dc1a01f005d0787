"""The experiment file for what was seen."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from diffloom_video.new_clip.proposal import Proposal

#: Most of a clip that is read [s], and most that the loss sees, of each kind; of a throw, a part.
LONG = 20.0
SEEN = 5.0


def experiment_text(seen: Proposal, video: str) -> str:
    """The text of a file that fits what was seen in ``video``, a path as the file is to name it."""
    duration = min(seen.duration, LONG)
    step = float(seen.video.times.diff().median()) if len(seen.video) > 1 else 1.0 / 30.0
    until = min(SEEN, 0.75 * duration) if seen.kind == "pendulum" else 0.67 * duration
    values = {
        "VIDEO": video.replace("\\", "/").replace('"', '\\"'),
        "BEGIN": f"{seen.begin:.4f}",
        "DURATION": f"{duration:.4f}",
        "UNTIL": f"{until:.4f}",
        "EVERY": str(max(1, round(1.0 / 30.0 / step))),
        "SEGMENTER": seen.segmenter,
    }
    text = files("diffloom_fitting").joinpath("new_clip", f"{seen.kind}.toml").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def write_experiment(seen: Proposal, clip: Path, place: Path) -> None:
    """Write the file ``place``; the clip is named from its folder."""
    named = clip.resolve()
    try:
        shown = str(named.relative_to(place.resolve().parent))
    except ValueError:
        shown = str(named)
    place.write_text(experiment_text(seen, shown), encoding="utf-8")
