"""Rate at which green answers hold if a user assumed something slightly wrong: fits of videos whose truth is known.

    python experiments/deception_study.py --quick                       # a fit of each scene and mistake
    python experiments/deception_study.py --first 70000 --count 5       # that of docs/trust.md; run again, it goes on
    python experiments/deception_study.py --first 70000 --publish deception_study.jsonl

Four scenes are recorded, raw (8 bits, with noise) and by H.264, and fitted with default tolerances and one mistake
each: a statement of the user differs from the recording, with either sign. Of the green answers, how many numbers lie
within two deviations; how many controls, without a mistake, are green; and how large is ± against the scatter of the
errors?
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from diffloom.plugins import get_model, get_renderer
from diffloom_experiments.origin import write_origin
from diffloom_fitting import Appearance, Orbit, Result, Scene, Stop, Target, Viewpoint, fit
from diffloom_fitting.scene import Sensor
from diffloom_studio.report.media import write_video
from diffloom_video import read_video

RESULTS = Path(__file__).resolve().parent / "results"
PIXELS, RATE, LEVEL, SPAN = 48, 30.0, 0.01, 0.5
KINDS = ("raw", "h264")
GREY = (0.35, 0.4, 0.45)


@dataclass(frozen=True)
class Told:
    """Statements of a user about a recording, true or with a mistake."""

    size: float = 1.0
    rate: float = 1.0
    start: float = 0.0
    distance: float = 1.0
    pitch: float = 0.0
    azimuth: float = 0.0
    fov: float = 1.0
    roll: float = 0.0
    centre: float = 0.0
    distortion: float = 0.0
    readout: float = 0.0
    zoom: float = 0.0
    gravity: float = 1.0
    push: float = 1.0
    place: float = 0.0
    turning: float = 0.0
    law: float = 1.0


#: Size of each mistake: the recording against the statement. Either sign is studied.
MISTAKES: dict[str, Told] = {
    "control": Told(),
    "frame rate 2 %": Told(rate=1.02),
    "start 0.15 frames": Told(start=0.15 / RATE),
    "object's size 2 %": Told(size=1.02),
    "camera's distance 2 %": Told(distance=1.02),
    "camera pitched 3 degrees": Told(pitch=3.0),
    "camera turned 3 degrees": Told(azimuth=3.0),
    "camera rolled 2 degrees": Told(roll=2.0),
    "field of view 4 %": Told(fov=1.04),
    "principal point 0.7 px": Told(centre=0.7),
    "distortion k1 0.05": Told(distortion=0.05),
    "rolling shutter 15 ms": Told(readout=0.015),
    "zoom creeping 2 %": Told(zoom=0.02 / SPAN),
    "gravity 4 %": Told(gravity=0.96),
    "push 5 %": Told(push=1.05),
    "start place 1.5 %": Told(place=0.015),
    "start turning 0.03 rad/s": Told(turning=0.03),
    "constants of contact 20 %": Told(law=1.2),
}


def enlarge(told: Told, times: float) -> Told:
    """A mistake that is several times as large."""
    larger = {name: default + times * (value - default) for name, value in vars(told).items()
              for default in (Told.__dataclass_fields__[name].default,)}  # fmt: skip
    return Told(**larger)


def flip(told: Told, sign: float) -> Told:
    """The opposite mistake for a sign of -1."""
    if sign > 0.0:
        return told
    turned = {name: -value if Told.__dataclass_fields__[name].default == 0.0 else 1.0 / value
              for name, value in vars(told).items()}  # fmt: skip
    return Told(**turned)


@dataclass(frozen=True)
class Case:
    """A scene by statements, its true values, and the starts of the search."""

    scene: Callable[[Told], Scene]
    truth: dict[str, Any]
    start: dict[str, Any]
    mistakes: tuple[str, ...]


def view_of(told: Told, distance: float, elevation: float, middle: tuple[float, float, float]) -> Viewpoint:
    """The camera."""
    place = Orbit(
        distance * told.distance,
        elevation + told.pitch,
        told.azimuth,
        middle,
        fov=40.0 * told.fov,
        size=(PIXELS, PIXELS),
    )
    bend = (told.distortion, 0.0, 0.0, 0.0, 0.0)
    sensor = Sensor(told.roll, (told.centre, 0.0), bend, readout=told.readout, zoom=told.zoom)
    return Viewpoint(place, sensor=sensor)


def scene_of(model: Any, params: dict[str, Any], dt: float, view: Viewpoint) -> Scene:
    """A scene drawn by exact coverage, in colours that show turning, a little longer than the video."""
    given = model.params(torch.float64, **params)
    steps = round(1.06 * SPAN / dt)
    return Scene(
        model,
        get_renderer("coverage")(background=GREY),
        view,
        given,
        dt,
        steps,
        appearance=Appearance(pattern="position"),
    )


COMMON = tuple(name for name in MISTAKES if name not in ("gravity 4 %", "push 5 %", "constants of contact 20 %"))


def struck(u: Callable[[float, float], float]) -> Case:
    """A box in free flight, struck at a vertex: its density, and how it was thrown."""

    def scene(told: Told) -> Scene:
        half = 0.5 * told.size
        impulse = [2.0 * told.push, 1.5 * told.push, -1.0 * told.push]
        push = {"vertex": 3, "impulse": impulse, "start": 0.0, "end": 0.1}
        model = get_model("rigid")([{"shape": "box", "size": [2.0 * half] * 3}], ground=False, pushes=[push])
        params = {"position": [[-0.3 + told.place, told.place, 0.0]], "gravity": [0.0, -9.81 * told.gravity, 0.0],
                  "angular_velocity": [[told.turning, told.turning, told.turning]]}  # fmt: skip
        return scene_of(model, params, 1 / 240, view_of(told, 6.5, 15.0, (0.0, 0.0, 0.0)))

    truth = {"density": u(3.0, 5.0), "velocity": [[u(-0.5, 0.5), u(2.0, 3.0), u(-0.4, 0.4)]]}
    start = {"density": truth["density"] * u(0.85, 1.15), "velocity": beside(truth["velocity"], u)}
    return Case(scene, truth, start, (*COMMON, "gravity 4 %", "push 5 %"))


def thrown(u: Callable[[float, float], float]) -> Case:
    """A ball in flight, whose size is the ruler: gravity, and how it was thrown."""

    def scene(told: Told) -> Scene:
        model = get_model("rigid")([{"shape": "sphere", "radius": 0.3 * told.size}], ground=False)
        params = {"position": [[-0.7 + 0.3 * told.place, 0.2 + 0.3 * told.place, 0.0]],
                  "angular_velocity": [[2.0 + told.turning, told.turning, 3.0 + told.turning]]}  # fmt: skip
        return scene_of(model, params, 1 / 240, view_of(told, 4.5, 5.0, (0.0, 0.3, 0.0)))

    truth = {"gravity.y": -9.81, "velocity": [[u(2.0, 2.6), u(2.3, 2.9), u(-0.4, 0.4)]]}
    start = {"gravity.y": -9.81 * u(0.9, 1.1), "velocity": beside(truth["velocity"], u)}
    return Case(scene, truth, start, COMMON)


def slid(u: Callable[[float, float], float]) -> Case:
    """A box that slides on the ground: friction, and its start speed."""

    def scene(told: Told) -> Scene:
        half = 0.25 * told.size
        model = get_model("rigid")([{"shape": "box", "size": [2.0 * half] * 3}])
        params = {"position": [[-0.9 + 0.25 * told.place, 0.25 * told.size, 0.25 * told.place]], "mass": 10.0,
                  "gravity": [0.0, -9.81 * told.gravity, 0.0], "contact_stiffness": 4e4 * told.law,
                  "friction_stiffness": 750.0 * told.law, "contact_dissipation": 0.5 * told.law,
                  "angular_velocity": [[0.0, told.turning, 0.0]]}  # fmt: skip
        return scene_of(model, params, 1 / 960, view_of(told, 3.5, 20.0, (0.0, 0.3, 0.0)))

    truth = {"friction": u(0.25, 0.4), "velocity.x": u(2.8, 3.4), "velocity.z": u(-0.3, 0.3)}
    start = {"friction": 0.32, "velocity.x": truth["velocity.x"] * u(0.93, 1.07), "velocity.z": 0.0}
    return Case(scene, truth, start, (*COMMON, "gravity 4 %", "constants of contact 20 %"))


def squeezed(u: Callable[[float, float], float]) -> Case:
    """A soft ball that falls on the ground: its stiffness, and how it was thrown."""

    def scene(told: Told) -> Scene:
        model = get_model("fem")("ball", radius=0.4 * told.size, layers=1)
        params = {"density": 100.0, "lame_modulus": 1e4, "damping": 5.0, "contact_stiffness": 1e3 * told.law,
                  "contact_dissipation": 0.3 * told.law, "friction": 0.5 * told.law,
                  "position": [0.4 * told.place, 0.6 + 0.4 * told.place, 0.0],
                  "gravity": [0.0, -9.81 * told.gravity, 0.0],
                  "angular_velocity": [0.0, 0.0, told.turning]}  # fmt: skip
        return scene_of(model, params, 1 / 720, view_of(told, 3.0, 10.0, (0.0, 0.4, 0.0)))

    truth = {"shear_modulus": u(3e3, 5e3), "velocity": [u(-0.5, 0.5), u(-2.0, -1.0), u(-0.3, 0.3)]}
    start = {"shear_modulus": truth["shear_modulus"] * u(0.85, 1.15), "velocity": beside(truth["velocity"], u)}
    return Case(scene, truth, start, (*COMMON, "gravity 4 %", "constants of contact 20 %"))


SCENES = {"struck": struck, "thrown": thrown, "slid": slid, "squeezed": squeezed}


def beside(velocity: Any, u: Callable[[float, float], float]) -> Any:
    """A start near the true velocity."""
    if isinstance(velocity, list):
        return [beside(value, u) for value in velocity]
    return velocity + u(-0.15, 0.15)


def draws(seed: int) -> Callable[[float, float], float]:
    """Uniform numbers of one seed."""
    generator = torch.Generator().manual_seed(seed)
    return lambda low, high: low + (high - low) * float(torch.rand(1, generator=generator, dtype=torch.float64))


def whole_values(scene: Scene, truth: dict[str, Any]) -> dict[str, Any]:
    """True values with whole vectors in place of their components."""
    found: dict[str, Any] = {}
    for name, value in truth.items():
        whole, _, axis = name.partition(".")
        if axis:
            vector = found.get(whole, scene.params[whole]).clone()
            vector[..., "xyz".index(axis)] = value
            value = vector
        found[whole] = value
    return found


def record(scene: Scene, truth: dict[str, Any], told: Told, kind: str, seed: int) -> Target:
    """The video as a camera would have it, with the time stamps that the file states."""
    stamps = torch.arange(round(SPAN * RATE), dtype=torch.float64) / RATE
    times = (stamps * told.rate + told.start).clamp(min=0.0)
    with torch.no_grad():
        view = scene.render(whole_values(scene, truth), times)
    assert view.image is not None
    assert view.image.rgba is not None
    frames = view.image.rgba[..., :3]
    noise = torch.randn(frames.shape, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    pixels = ((frames + LEVEL * noise).clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)
    if kind == "raw":
        return Target(stamps, pixels.to(torch.float64) / 255.0, step=1.0 / 255.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        write_video(path, pixels.numpy(), RATE)
        return read_video(path, dtype=torch.float64)


def fitted(name: str, mistake: str, kind: str, seed: int, times: float = 1.0) -> tuple[Case, Result]:
    """The fit of one video by a user who does not know of the mistake, which may be several times as large."""
    case = SCENES[name](draws(seed))
    order = list(MISTAKES).index(mistake)
    told = flip(enlarge(MISTAKES[mistake], times), 1.0 if (seed + order) % 2 else -1.0)
    video = record(case.scene(told), case.truth, told, kind, seed)
    assumed = case.scene(Told())
    return case, fit(assumed, video, case.start, stop=Stop(change=1e-9, patience=3))


Job = tuple[str, str, str, int]


def jobs(first: int, count: int) -> Iterator[Job]:
    """(scene, mistake, kind, seed) of every fit, seed by seed, so that a study cut short has some of each kind."""
    for seed in range(first, first + count):
        for mistake in MISTAKES:
            for name in SCENES:
                if mistake in SCENES[name](draws(seed)).mistakes:
                    yield from ((name, mistake, kind, seed) for kind in KINDS)


def row_of(job: Job, times: float = 1.0) -> dict[str, Any]:
    """One fit: its verdict, its numbers' errors and ±."""
    began = time.process_time()
    case, result = fitted(*job, times)
    errors: dict[str, float] = {}
    deviations: dict[str, float] = {}
    for e in result.estimates:
        true = torch.as_tensor(case.truth[e.name], dtype=torch.float64).reshape(-1)
        wide = e.deviation if e.deviation is not None else torch.full_like(e.found, math.nan)
        for i, (found, wanted, one) in enumerate(zip(e.found.reshape(-1), true, wide.reshape(-1), strict=True)):
            label = e.name if len(true) == 1 else f"{e.name}[{i}]"
            errors[label], deviations[label] = float(found - wanted), float(one)
    told = {part: finding.text for part, finding in result.verdict.findings() if finding.level != "green"}
    name, mistake, kind, seed = job
    return {
        "scene": name, "mistake": mistake, "kind": kind, "seed": seed, "level": result.verdict.level, "told": told,
        "errors": errors, "deviations": {k: None if math.isnan(v) else v for k, v in deviations.items()},
        "seconds": round(time.process_time() - began, 1),
    }  # fmt: skip


def job_of(row: dict[str, Any]) -> Job:
    """Return the key of the fit that a row describes."""
    return row["scene"], row["mistake"], row["kind"], row["seed"]


def within(rows: list[dict[str, Any]], times: float = 2.0) -> tuple[int, int]:
    """Numbers of green fits within so many deviations, and their count."""
    off = [abs(row["errors"][k]) / d for row in rows if row["level"] == "green"
           for k, d in row["deviations"].items() if d]  # fmt: skip
    return sum(value <= times for value in off), len(off)


def widths(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Mean ± of green fits over the root mean square error of all fits, by scene and number."""
    found = {}
    for name in SCENES:
        mine = [row for row in rows if row["scene"] == name]
        for label in mine[0]["errors"] if mine else ():
            errors = [row["errors"][label] for row in mine if row["level"] != "red"]
            shown = [row["deviations"][label] for row in mine if row["level"] == "green" and row["deviations"][label]]
            if shown and errors:
                scatter = math.sqrt(sum(e * e for e in errors) / len(errors))
                found[f"{name} {label}"] = sum(shown) / len(shown) / scatter
    return found


def summary(rows: list[dict[str, Any]]) -> str:
    """The figures as tables."""
    lines = [f"| mistake | {' | '.join(f'{kind}: fits | green, amber, red | numbers within 2 ±' for kind in KINDS)} |",
             "|---" * 7 + "|"]  # fmt: skip
    for mistake in MISTAKES:
        lines.append(_line(mistake, [row for row in rows if row["mistake"] == mistake]))
    wrong = [row for row in rows if row["mistake"] != "control"]
    lines += [_line("**all mistakes**", wrong), "", _tell_goals(rows, wrong), ""]
    lines += ["| scene and number | mean ± of green fits over the scatter of the errors |", "|---|---|"]
    lines += [f"| {name} | {value:.2f} |" for name, value in widths(rows).items()]
    return "\n".join(lines)


def _line(name: str, rows: list[dict[str, Any]]) -> str:
    cells = [name]
    for kind in KINDS:
        mine = [row for row in rows if row["kind"] == kind]
        levels = [sum(row["level"] == level for row in mine) for level in ("green", "amber", "red")]
        cells += [str(len(mine)), ", ".join(map(str, levels)), _share(*within(mine))]
    return f"| {' | '.join(cells)} |"


def _share(part: int, whole: int) -> str:
    return f"{100.0 * part / whole:.1f} % of {whole}" if whole else "-"


def _tell_goals(rows: list[dict[str, Any]], wrong: list[dict[str, Any]]) -> str:
    """The three figures by which the study is judged."""
    controls = [row for row in rows if row["mistake"] == "control"]
    green = [row for row in wrong if row["level"] == "green"]
    whole = sum(all(abs(row["errors"][k]) <= 2.0 * d for k, d in row["deviations"].items() if d) for row in green)
    ratios = list(widths(rows).values()) or [math.nan]
    return (
        f"Numbers of green fits with a mistake within 2 ±: {_share(*within(wrong))}; green fits with all numbers "
        f"within 2 ±: {_share(whole, len(green))}; controls green: "
        f"{_share(sum(row['level'] == 'green' for row in controls), len(controls))}, their numbers within 2 ±: "
        f"{_share(*within(controls))}; mean ± over scatter: {sum(ratios) / len(ratios):.2f} on average, "
        f"{max(ratios):.2f} at most; processor time of a fit: {sum(row['seconds'] for row in rows) / len(rows):.1f} s"
    )


def publish(rows: list[dict[str, Any]], command: str) -> None:
    """Write tables, rows and their origin into experiments/results."""
    short = [{**{key: row[key] for key in ("scene", "mistake", "kind", "seed", "level")},
              "off": {k: round(row["errors"][k] / d, 2) for k, d in row["deviations"].items() if d}}
             for row in rows]  # fmt: skip
    tables, data = RESULTS / "deception-study.md", RESULTS / "deception-study.json"
    tables.write_text(f"# Slightly wrong assumptions\n\n{summary(rows)}\n", encoding="utf-8")
    lines = ",\n ".join(json.dumps(row) for row in short)
    data.write_text(f"[\n {lines}\n]\n", encoding="utf-8")
    write_origin(tables, data, command=command)


def main() -> None:
    """Run the study, write a line per fit, print the figures. Fits that the file has already are not run again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5, help="seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--scene", action="append", choices=list(SCENES), help="only these")
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--times", type=float, default=1.0, help="mistakes so many times as large")
    parser.add_argument("--publish", nargs="+", type=Path, help="files of rows to publish in experiments/results")
    parser.add_argument("--out", type=Path, default=Path("deception_study.jsonl"), help="a line of JSON per fit")
    given = parser.parse_args()
    if given.publish:
        rows = [json.loads(line) for path in given.publish for line in path.read_text(encoding="utf-8").splitlines()]
        publish(rows, f"python experiments/deception_study.py --first {given.first} --count {given.count}")
        print(summary(rows))
        return
    torch.set_num_threads(1)
    before = given.out.read_text(encoding="utf-8").splitlines() if given.out.exists() else []
    done = {job_of(row): row for row in map(json.loads, before)}
    wanted = [job for job in jobs(given.first, 1 if given.quick else given.count)
              if given.scene is None or job[0] in given.scene]  # fmt: skip
    with given.out.open("a", encoding="utf-8") as file:
        for job in wanted:
            if job not in done:
                done[job] = row_of(job, given.times)
                file.write(json.dumps(done[job]) + "\n")
                file.flush()
    print(summary([done[job] for job in wanted]))


if __name__ == "__main__":
    main()
