"""Fits whose user assumed one thing slightly wrong, and that were once green: formerly, now, truth.

    python experiments/trust_rows.py --deceptions          # prints the rows of the table in docs/trust.md

The recordings are drawn from other seeds than those of `deception_study.py`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from deception_study import MISTAKES, RATE, SCENES, Case, Told, draws, record

from diffloom_fitting import Result, Stop, fit
from diffloom_fitting.numbers import format_value, format_with_caveat
from diffloom_fitting.result_tables import result_lines
from diffloom_studio.report.media import write_video

SEED = 501
STILL = Stop(change=1e-9, patience=3)
TRUTHS = {
    "struck": {"density": 4.0, "velocity": [[0.3, 2.4, 0.2]]},
    "thrown": {"gravity.y": -9.81, "velocity": [[2.3, 2.6, 0.1]]},
    "slid": {"friction": 0.3, "velocity.x": 3.1, "velocity.z": 0.0},
}


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Args:
        wrong: Wrong statement of the user, in words.
        formerly: Former output, green.
        scene: Name of a scene of the study.
        shown: Name of the unknown that is shown.
        told: Recording against the statements of the user.
        kind: "raw" or "h264".
    """

    wrong: str
    formerly: str
    scene: str
    shown: str
    told: Told
    kind: str = "h264"


def _mistake(start: str) -> Told:
    return next(told for name, told in MISTAKES.items() if name.startswith(start))


ROWS = (
    Row("frame rate off by 2 %", "9.425 ± 0.013", "thrown", "gravity.y", _mistake("frame rate")),
    Row("the same", "0.288 ± 0.0011", "slid", "friction", _mistake("frame rate")),
    Row("the same", "4.096 ± 0.008", "struck", "density", _mistake("frame rate")),
    Row("object 2 % smaller than said", "3.694 ± 0.004", "struck", "density", Told(size=0.98)),
    Row("camera's distance off by 2 %", "10.06 ± 0.07", "thrown", "gravity.y", _mistake("camera's distance")),
    Row("camera rolled by 2 degrees", "4.195 ± 0.011", "struck", "density", _mistake("camera rolled")),
    Row("camera pitched by 3 degrees", "9.518 ± 0.055", "thrown", "gravity.y", _mistake("camera pitched")),
    Row("gravity 9.4", "0.2858 ± 0.0012", "slid", "friction", Told(gravity=9.81 / 9.4)),
    Row("push 5 % stronger", "3.810 ± 0.0016", "struck", "density", Told(push=1.05)),
    Row("15 ms rolling shutter", "4.036 ± 0.008", "struck", "density", _mistake("rolling shutter")),
    Row("distortion", "4.033 ± 0.012", "struck", "density", _mistake("distortion")),
    Row("creeping zoom", "0.42", "struck", "velocity", _mistake("zoom")),
)  # fmt: skip


def _case(name: str) -> Case:
    return replace(SCENES[name](draws(SEED)), truth=TRUTHS[name])


def fit_row(row: Row) -> Result:
    """The fit of one row: the recording departs from what the user says."""
    case = _case(row.scene)
    recorded, assumed = case.scene(row.told), case.scene(Told())
    if row.wrong.startswith("gravity"):  # the user states 9.4 m/s^2, and the Earth has 9.81
        recorded, assumed = case.scene(Told()), case.scene(Told(gravity=9.4 / 9.81))
    return fit(assumed, record(recorded, case.truth, row.told, row.kind, SEED), case.start, stop=STILL)


def fit_sliding_box(seed: int) -> Result:
    """The fit of a sliding box with the right model: all of its start velocity is sought."""
    case = SCENES["slid"](draws(seed))
    scene = replace(case.scene(Told()), dt=1 / 1920, steps=round(0.53 * 1920))
    whole = {"friction": 0.3, "velocity": [[3.1, 0.0, 0.1]]}
    video = record(scene, whole, Told(), "raw", seed)
    return fit(scene, video, {"friction": 0.32, "velocity": [[3.0, 0.05, 0.0]]}, stop=STILL)


def fit_named(name: str) -> Result:
    """The fit of one video under a file's name."""
    case = _case("struck")
    scene = case.scene(Told())
    video = record(scene, case.truth, Told(), "raw", SEED)
    assert video.frames is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_video(path, (255 * video.frames).round().to(torch.uint8).numpy(), RATE)
        return fit(scene, path, case.start, stop=STILL)


def list_rows() -> Iterator[tuple[str, str, str, Result, str, int]]:
    """Yield wrong statement, former output, truth, result, unknown that is shown, and its component."""
    for row in ROWS:
        truth = torch.as_tensor(TRUTHS[row.scene][row.shown], dtype=torch.float64).reshape(-1)
        part = len(truth) - 1
        yield row.wrong, row.formerly, f"{row.shown} {float(truth[part]):g}", fit_row(row), row.shown, part
    for seed in (SEED, SEED + 1, SEED + 2):
        told = "nothing: a sliding box, right model, three seeds"
        yield told, "0.048 ± 0.0015, 0.044 ± 0.0014", "velocity.y 0", fit_sliding_box(seed), "velocity", 1
    for name in ("synthesised.mp4", "clip.mp4"):
        former = {"synthesised.mp4": "4.061 ± 0.0078, green", "clip.mp4": "4.061 ± 0.047, amber"}[name]
        yield f"nothing: the file is called {name}", former, "density 4", fit_named(name), "density", 0


def describe(result: Result, shown: str, part: int) -> str:
    """The level, one number with its ±, and what it stands on."""
    one = next(e for e in result.estimates if e.name == shown)
    deviation = None if one.deviation is None else one.deviation.reshape(-1)[part]
    value = format_with_caveat(format_value(one.found.reshape(-1)[part], deviation), one.caveat)
    label = shown if one.found.numel() == 1 else f"{shown}[0, {part}]"
    stands = [line.partition(": ")[2] for line in result_lines(result) if line.startswith(f"{label}: of ±")]
    reason = result.verdict.explained.text.partition(": ")[2] if result.verdict.level != "green" else ""
    told = reason.partition("; ± includes")[0] or "".join(stands)
    return f"{result.verdict.level}: {value}" + (f"; {told}" if told else "")


def print_table(write: Callable[[str], None] = print) -> None:
    """Print the table."""
    write("| what was slightly wrong | formerly, green | now | truth |\n|---|---|---|---|")
    for wrong, formerly, truth, result, shown, part in list_rows():
        write(f"| {wrong} | {formerly} | {describe(result, shown, part)} | {truth} |")
