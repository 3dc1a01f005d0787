"""Rate at which the verdict and ± are right: fits of synthetic videos whose truth is known.

    python experiments/trust_study.py --quick                    # a few fits of each kind
    python experiments/trust_study.py --count 67 --first 40000   # the study of docs/trust.md; run again, it goes on

Four questions: do 95 % intervals of green fits cover the truth in 95 % of the cases; are unknowns that a video cannot
show named; are well-posed ones left alone; is a fit that was stopped early ever green?
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import Appearance, Orbit, Result, Scene, Stop, Target, fit, synthesise
from diffloom_studio.report.media import write_video
from diffloom_video import read_video

SIZE, RATE, LEVEL = (32, 32), 30.0, 0.02
BLUR, MEMORY = 3, 0.6
FAMILIES = ("rigid", "fem", "cloth")
NOISES = ("white", "correlated", "compressed")


@dataclass(frozen=True)
class Case:
    """A scene, its true values and where the search begins."""

    scene: Scene
    truth: dict[str, Any]
    start: dict[str, Any]
    hidden: tuple[str, ...] = ()


def draws(seed: int) -> Callable[[float, float], float]:
    """Uniform numbers of one seed."""
    generator = torch.Generator().manual_seed(seed)
    return lambda low, high: low + (high - low) * float(torch.rand(1, generator=generator, dtype=torch.float64))


def scene_of(model: Any, params: dict[str, Any], dt: float, camera: Orbit) -> Scene:
    """Half a second, drawn softly in colours that show turning."""
    renderer = get_renderer("softras")(sigma=1e-4, gamma=1e-3)
    given = model.params(torch.float64, **params)
    return Scene(model, renderer, camera, given, dt, round(0.5 / dt), appearance=Appearance(pattern="position"))


def rigid(seed: int) -> Case:
    """A box struck at a vertex: its density, and how it was thrown."""
    u = draws(seed)
    model = get_model("rigid")(
        [{"shape": "box", "position": [-0.3, 0.0, 0.0]}], ground=False,
        pushes=[{"vertex": 3, "impulse": [2.0, 1.5, -1.0], "start": 0.0, "end": 0.1}],
    )  # fmt: skip
    truth = {"density": u(2.0, 6.0), "velocity": [u(-1.0, 1.0), u(1.0, 3.0), u(-0.5, 0.5)]}
    return Case(scene_of(model, {}, 1 / 120, Orbit(4.5, 15.0, size=SIZE)), truth, beside(truth, u, 0.2))


def fem(seed: int) -> Case:
    """A soft ball that falls on the ground: its stiffness, and how it was thrown."""
    u = draws(seed)
    model = get_model("fem")("ball", radius=0.4, layers=1)
    known = {"density": 100.0, "damping": 5.0, "position": [0.0, 0.6, 0.0], "contact_stiffness": 1e3}
    truth = {"shear_modulus": u(2e3, 6e3), "velocity": [u(-0.5, 0.5), u(-2.0, -1.0), u(-0.3, 0.3)]}
    camera = Orbit(2.2, 10.0, target=(0.0, 0.4, 0.0), size=SIZE)
    return Case(scene_of(model, known, 1 / 720, camera), truth, beside(truth, u, 0.1))


def cloth(seed: int) -> Case:
    """A cloth hung from two corners that was pushed: its velocity and how it resists stretching."""
    u = draws(seed)
    mesh = {"shape": "grid", "cells": [6, 4], "size": [1.2, 0.8], "plane": "xy", "position": [0.0, 0.2, 0.0]}
    model = get_model("cloth")(mesh, anchors=["top_left", "top_right"])
    known = {"orientation": [0.985, 0.174, 0.0, 0.0], "bending_stiffness": 1e-2, "damping": 0.5, "density": 1.0}
    truth = {"shear_modulus": u(40.0, 120.0), "velocity": [u(-1.0, 1.0), u(-0.5, 0.5), u(-1.0, 1.0)]}
    camera = Orbit(2.0, 10.0, size=SIZE)
    return Case(scene_of(model, known, 1 / 960, camera), truth, beside(truth, u, 0.1))


CASES: dict[str, Callable[[int], Case]] = {"rigid": rigid, "fem": fem, "cloth": cloth}


def beside(truth: dict[str, Any], u: Callable[[float, float], float], far: float) -> dict[str, Any]:
    """Starts beside the truth, by up to ``far`` of it or, for velocities, twice that in m/s."""
    return {
        name: [v + 2.0 * u(-far, far) for v in value] if isinstance(value, list) else value * math.exp(u(-far, far))
        for name, value in truth.items()
    }


def planted(seed: int) -> Case:
    """A case with an unknown, or two, that its video cannot show; ``hidden`` names them."""
    u = draws(seed)
    family = FAMILIES[seed % 3]
    case = CASES[family](seed)
    along = {"camera.distance": 1.0, "camera.target": [0.0, 0.0, 0.0]}
    if seed % 2:
        camera = case.scene.camera
        assert isinstance(camera, Orbit)
        level = replace(camera, elevation=0.0)  # looks along z: distance and the target's z exchange
        along = {"camera.distance": level.distance, "camera.target": list(level.target)}
        scene = replace(case.scene, camera=level)
        return replace(case, scene=scene, start=case.start | along, hidden=("camera.distance", "camera.target[2]"))
    if family == "rigid":
        model = get_model("rigid")([{"shape": "box", "position": [-0.3, 0.6, 0.0]}])
        truth = {"velocity": case.truth["velocity"]}
        scene = scene_of(model, {"gravity": [0.0, 0.0, 0.0]}, 1 / 120, Orbit(4.5, 15.0, size=SIZE))
        start = beside(truth, u, 0.2) | {"mass": u(0.5, 2.0)}
        return Case(scene, truth, start, ("mass",))
    if family == "fem":
        known = {"density": 100.0, "damping": 5.0, "position": [0.0, 0.9, 0.0], "gravity": [0.0, 0.0, 0.0]}
        model = get_model("fem")("ball", radius=0.4, layers=1)
        truth = {"velocity": [u(-0.5, 0.5), u(-0.5, 0.5), u(-0.3, 0.3)]}
        scene = scene_of(model, known, 1 / 720, Orbit(2.2, 10.0, target=(0.0, 0.9, 0.0), size=SIZE))
        return Case(scene, truth, beside(truth, u, 0.1) | {"shear_modulus": u(2e3, 6e3)}, ("shear_modulus",))
    mesh = {"shape": "grid", "cells": [6, 4], "size": [1.2, 0.8], "plane": "xy"}
    model = get_model("cloth")(mesh)
    truth = {"velocity": [u(-0.5, 0.5), u(-0.5, 0.5), u(-0.3, 0.3)]}
    scene = scene_of(model, {"gravity": [0.0, 0.0, 0.0]}, 1 / 960, Orbit(2.0, 10.0, size=SIZE))
    return Case(scene, truth, beside(truth, u, 0.1) | {"lame_modulus": u(50.0, 200.0)}, ("lame_modulus",))


def recorded(case: Case, noise: str, seed: int) -> Target:
    """The video of a case as a camera would have it."""
    clean = synthesise(case.scene, case.truth, rate=RATE)
    assert clean.frames is not None
    colours = clean.frames[..., :3]
    bare = replace(clean, frames=colours, masks=None, q=None)
    if noise == "compressed":
        return _compressed(bare)
    made = white(colours.shape, seed) if noise == "white" else blotches(colours.shape, seed)
    return replace(bare, frames=colours + LEVEL * made)


def white(shape: torch.Size, seed: int) -> Tensor:
    """Independent noise of unit variance."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)


def blotches(shape: torch.Size, seed: int) -> Tensor:
    """Noise of unit variance: blurred over BLUR pixels, alike in all channels, remembered from frame to frame."""
    frames, height, width, _ = shape
    fresh = white(torch.Size((frames, 1, height + BLUR - 1, width + BLUR - 1)), seed)
    fresh = BLUR * avg_pool2d(fresh, BLUR, stride=1)[:, 0]
    lasting = [fresh[0]]
    for frame in fresh[1:]:
        lasting.append(MEMORY * lasting[-1] + math.sqrt(1.0 - MEMORY**2) * frame)
    return torch.stack(lasting)[..., None].expand(shape)


def _compressed(target: Target) -> Target:
    """Return the target after H.264 compression."""
    assert target.frames is not None
    pixels = (target.frames.clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        write_video(path, pixels, RATE)
        read = read_video(path, dtype=torch.float64)
    return replace(target, frames=read.frames, step=read.step, chroma=read.chroma)


def fitted(case: Case, noise: str, seed: int, iterations: int = 30) -> Result:
    """The fit of one video."""
    stop = Stop(change=1e-9, patience=3)
    return fit(case.scene, recorded(case, noise, seed), case.start, iterations=iterations, stop=stop)


def covering(family: str, noise: str, seed: int) -> dict[str, Any]:
    """One fit: its verdict, and for each number by how many deviations it is off."""
    result = fitted(CASES[family](seed), noise, seed)
    off = []
    for e in result.estimates:
        if e.deviation is not None and e.truth is not None:
            off += ((e.found - e.truth) / e.deviation).reshape(-1).tolist()
    return _row("coverage", family, noise, seed, result) | {"off": off}


def naming(family: str, noise: str, seed: int) -> dict[str, Any]:
    """One fit with an unknown that its video cannot show, and whether the verdict names it."""
    case = planted(seed)
    result = fitted(case, noise, seed)
    named = set(case.hidden) <= set(result.verdict.undetermined) and result.verdict.level != "green"
    return _row("planted", family, noise, seed, result) | {"named": named}


def stopping(family: str, noise: str, seed: int) -> dict[str, Any]:
    """One fit from far away, stopped after an iteration or two."""
    case = CASES[family](seed)
    far = case.start | {name: v * 3.0 for name, v in case.start.items() if not isinstance(v, list)}
    return _row("early", family, noise, seed, fitted(replace(case, start=far), noise, seed, 1 + seed % 2))


STUDIES = {"coverage": covering, "planted": naming, "early": stopping}
Job = tuple[str, str, str, int]


def jobs(first: int, count: int) -> Iterator[Job]:
    """(study, family, noise, seed) of every fit, seed by seed, so that a study cut short has some of each kind; with a
    count of 0 only those of planted unknowns and early stops."""
    others = 3 if count == 1 else 50
    for seed in range(first, first + max(count, others)):
        if seed < first + others:
            yield from ((study, FAMILIES[seed % 3], "white", seed) for study in ("planted", "early"))
        if seed < first + count:
            yield from (("coverage", family, noise, seed) for family in FAMILIES for noise in NOISES)


def job_of(row: dict[str, Any]) -> Job:
    """Return the key of the fit that a row describes."""
    return row["study"], row["family"], row["noise"], row["seed"]


def _row(study: str, family: str, noise: str, seed: int, result: Result) -> dict[str, Any]:
    told = {part: finding.text for part, finding in result.verdict.findings() if finding.level != "green"}
    return {
        "study": study, "family": family, "noise": noise, "seed": seed, "level": result.verdict.level,
        "undetermined": list(result.verdict.undetermined), "told": told,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> str:
    """The figures as tables."""
    lines = [
        "| family | noise | fits | green | amber | red | numbers of green fits | within 1.96 ± |",
        "|---" * 8 + "|",
    ]
    every = [r for r in rows if r["study"] == "coverage"]
    for family in FAMILIES:
        for noise in (*NOISES, "all"):
            mine = [r for r in every if r["family"] == family and noise in (r["noise"], "all")]
            if mine:
                lines.append(_cell(f"{family} | {noise}", mine))
    if every:
        lines.append(_cell("all | all", every))
    hidden, early = ([r for r in rows if r["study"] == s] for s in ("planted", "early"))
    well = [r for r in every if r["noise"] == "white"]
    lines.append("")
    lines.append(f"planted unknowns named: {sum(r['named'] for r in hidden)} of {len(hidden)}")
    lines.append(f"stopped early and green: {sum(r['level'] == 'green' for r in early)} of {len(early)}")
    lines.append(f"false alarms, white noise: {sum(bool(r['undetermined']) for r in well)} of {len(well)}")
    return "\n".join(lines)


def _cell(name: str, rows: list[dict[str, Any]]) -> str:
    levels = [sum(r["level"] == level for r in rows) for level in ("green", "amber", "red")]
    off = [value for r in rows if r["level"] == "green" for value in r["off"]]
    inside = sum(abs(value) <= 1.96 for value in off)
    share = f"{100.0 * inside / len(off):.1f} %" if off else "-"
    return f"| {name} | {len(rows)} | " + " | ".join(str(n) for n in levels) + f" | {len(off)} | {share} |"


def main() -> None:
    """Run the study, write a line per fit, print the figures. Fits that the file has already are not run again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=67, help="fits of each family and noise")
    parser.add_argument("--first", type=int, default=5000, help="the first seed")
    parser.add_argument("--quick", action="store_true", help="one fit of each kind")
    parser.add_argument("--out", type=Path, default=Path("trust_study.jsonl"), help="a line of JSON per fit")
    given = parser.parse_args()
    torch.set_num_threads(1)
    before = given.out.read_text(encoding="utf-8").splitlines() if given.out.exists() else []
    rows = {job_of(row): row for row in map(json.loads, before)}
    wanted = list(jobs(given.first, 1 if given.quick else given.count))
    with given.out.open("a", encoding="utf-8") as file:
        for job in wanted:
            if job not in rows:
                study, *which = job
                rows[job] = STUDIES[study](*which)
                file.write(json.dumps(rows[job]) + "\n")
                file.flush()
    print(summary([rows[job] for job in wanted]))


if __name__ == "__main__":
    main()
