"""Small random scenes fitted with defaults only, as a newcomer would write them, and a table of how each ended.

    python experiments/first_hour_study.py                     # seeds 0 to 19, for development
    python experiments/first_hour_study.py --first 1000        # seeds 1000 to 1019, for one run with settings frozen

Each seed draws a model, a mesh, unknowns, true values, starts and a camera, and nothing else: step, stages, renderer,
loss and optimiser are those of a file that does not name them. The video is drawn from the true values. A fit is right
if every number lies within two of its ± (or errs by less than one in a million, where ± is that of rounding) and errs
by at most 10 % of the largest number of its unknown. The table in experiments/results has the commit, the command, the
date and the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import subprocess
import time
import warnings
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
import trimesh

from diffloom import __version__
from diffloom.interfaces import InputError, SimulationError
from diffloom_experiments import build_experiment, load_data
from diffloom_experiments.origin import write_origin
from diffloom_fitting import Result, run_fit

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
SCENES = 20
FAR, SANE, EXACT = 2.0, 0.1, 1e-6
MESHES = ("torus", "icosahedron", "cylinder", "annulus")
Table = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """End of one fit: errors in ±, and relative to the largest number of each unknown."""

    seed: int
    scene: str
    unknowns: str
    level: str
    deviations: float
    error: float
    iterations: int
    seconds: float
    reason: str

    @property
    def right(self) -> bool:
        """True if every number lies within two of its ± and errs little."""
        return self.error <= EXACT or (self.deviations <= FAR and self.error <= SANE)


def draw_scene(seed: int, folder: Path) -> Table:
    """Return the tables of a random file.

    Args:
        seed: Seed of all choices.
        folder: Folder for meshes that the file names.

    Returns:
        Contents of an experiment file.
    """
    dice = random.Random(seed)
    kind = dice.choice(sorted(KINDS))
    content = KINDS[kind](dice, folder)
    camera = {
        "distance": content.pop("distance") * dice.uniform(0.9, 1.2), "elevation": dice.uniform(5.0, 30.0),
        "azimuth": dice.uniform(-40.0, 40.0), "target": content.pop("at"), "size": [dice.choice([48, 64])] * 2,
    }  # fmt: skip
    return {
        "title": f"scene {seed}", "time": {"duration": round(dice.uniform(0.4, 0.6), 2)}, "camera": camera,
        "target": {"rate": dice.choice([20, 25, 30])}, **content,
    }  # fmt: skip


def make_mesh(dice: random.Random, folder: Path, size: float) -> tuple[str, str]:
    """Write a random closed mesh as an OBJ file; return its path and its name."""
    name = dice.choice(MESHES)
    made = {
        "torus": lambda: trimesh.creation.torus(0.7, 0.3, major_sections=16, minor_sections=8),
        "icosahedron": trimesh.creation.icosahedron,
        "cylinder": lambda: trimesh.creation.cylinder(0.6, 1.4, sections=16),
        "annulus": lambda: trimesh.creation.annulus(0.4, 1.0, 0.6, sections=16),
    }[name]()
    made.apply_scale(size)
    made.apply_transform(trimesh.transformations.random_rotation_matrix(np.array([dice.random() for _ in range(3)])))
    path = folder / f"{name}-{dice.randrange(10**6)}.obj"
    made.export(path)
    return str(path), name


def draw_velocity(dice: random.Random, speed: float = 1.0) -> list[float]:
    """Return a velocity [m/s] mostly to the side and up."""
    return [
        round(dice.uniform(-speed, speed), 2),
        round(dice.uniform(0.0, speed), 2),
        round(dice.uniform(-0.4, 0.4), 2),
    ]


def seek(dice: random.Random, choices: list[Table]) -> tuple[Table, Table]:
    """Return [truth] and [unknowns] of one of several sets of unknowns; a velocity starts at 0, a material up to 2.5
    times too large or too small.
    """
    truth = dice.choice(choices)
    starts = {
        name: [0.0] * len(value) if isinstance(value, list) else float(f"{value * 2.5 ** dice.uniform(-1, 1):.3g}")
        for name, value in truth.items()
    }
    if "restitution" in truth:
        starts["restitution"] = 0.5
    return truth, {name: {"start": start} for name, start in starts.items()}


def draw_rigid(dice: random.Random, folder: Path) -> Table:
    """Return a thrown rigid body: its velocity, its spin or its bounce is unknown."""
    shape = dice.choice(["box", "cylinder", "cone", "capsule", "mushroom", "star", "ell", "mesh"])
    if shape == "mesh":
        path, shape = make_mesh(dice, folder, 0.2)
        model: Table = {"name": "rigid", "bodies": [{"mesh": path}]}
    else:
        size = {"size": [0.4, 0.3, 0.2]} if shape == "box" else {}
        model = {"name": "rigid", "bodies": [{"shape": shape, **size}]}
        if not size:
            model["bodies"][0]["scale"] = 0.6
    v = draw_velocity(dice, 1.5)
    spin = [round(dice.uniform(-3.0, 3.0), 1) for _ in range(3)]
    truth, unknowns = seek(dice, [{"velocity": v}, {"velocity": v, "angular_velocity": spin}])
    return {"model": model, "params": {"position": [0.0, 1.2, 0.0]}, "truth": truth, "unknowns": unknowns,
            "distance": 2.6, "at": [0.0, 0.9, 0.0]}  # fmt: skip


def draw_fem(dice: random.Random, folder: Path) -> Table:
    """Return a soft body that falls onto the ground: its stiffness, its density or its velocity is unknown."""
    shape = dice.choice(["box", "ball", "mesh"])
    model: Table = {"name": "fem", "mesh": shape}
    if shape == "box":
        model |= {"size": [0.4, 0.3, 0.3]}
    if shape == "ball":
        model |= {"radius": 0.2}
    if shape == "mesh":
        path, shape = make_mesh(dice, folder, 0.2)
        model |= {"mesh": path}
    v, stiff = draw_velocity(dice), round(10 ** dice.uniform(3.3, 4.0))
    truth, unknowns = seek(dice, [
        {"shear_modulus": stiff}, {"shear_modulus": stiff, "velocity": v}, {"lame_modulus": 2 * stiff, "velocity": v},
        {"velocity": v},
    ])  # fmt: skip
    return {"model": model, "params": {"position": [0.0, 0.4, 0.0]}, "truth": truth, "unknowns": unknowns,
            "distance": 2.0, "at": [0.0, 0.25, 0.0]}  # fmt: skip


def draw_cloth(dice: random.Random, folder: Path) -> Table:
    """Return a hung cloth: its stiffness, its density or its velocity is unknown."""
    cells = [dice.randint(4, 8), dice.randint(4, 8)]
    model = {
        "name": "cloth",
        "mesh": {"shape": "grid", "cells": cells, "size": [0.8, 0.8]},
        "pins": ["top_left", "top_right"],
    }
    v, stiff = draw_velocity(dice), round(10 ** dice.uniform(1.5, 2.5))
    truth, unknowns = seek(dice, [
        {"velocity": v}, {"shear_modulus": stiff}, {"density": round(dice.uniform(0.1, 0.4), 2)},
        {"shear_modulus": stiff, "velocity": v},
    ])  # fmt: skip
    return {"model": model, "params": {}, "truth": truth, "unknowns": unknowns, "distance": 1.8, "at": [0.0, 0.0, 0.0]}


def draw_articulated(dice: random.Random, folder: Path) -> Table:
    """Return a swinging pendulum of one or two rods or a chain: its length or its rate is unknown."""
    angle = round(dice.uniform(0.3, 1.0), 2)
    builder = dice.choice(["pendulum", "double_pendulum", "chain"])
    tree: Table = {"builder": builder}
    tree |= {"angle": angle} if builder != "double_pendulum" else {"angles": [angle, 0.2]}
    rate = round(dice.uniform(1.0, 3.0) * dice.choice([-1, 1]), 2)
    truth, unknowns = seek(dice, [{"length": round(dice.uniform(0.7, 1.2), 2)}, {"joint_velocity": rate}])
    if "joint_velocity" in truth:
        unknowns = {"joint_velocity": {"start": 0.0}}
    return {"model": {"name": "articulated", "trees": [tree]}, "params": {}, "truth": truth, "unknowns": unknowns,
            "distance": 3.5, "at": [0.0, -0.6, 0.0]}  # fmt: skip


KINDS = {"rigid": draw_rigid, "fem": draw_fem, "cloth": draw_cloth, "articulated": draw_articulated}


def fit_scene(seed: int, folder: Path) -> Row:
    """Fit one scene; an error is a red end."""
    content = draw_scene(seed, folder)
    model, unknowns = content["model"], ", ".join(content["unknowns"])
    what = model.get("mesh", model.get("bodies", model.get("trees", "")))
    scene = f"{model['name']} {json.dumps(what) if not isinstance(what, str) else Path(what).stem}"
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = run_fit(build_experiment(load_data(content, folder, f"scene {seed}")), check=True)
    except (InputError, SimulationError) as error:
        return Row(seed, scene, unknowns, "red", math.inf, math.inf, 0, time.process_time() - begun, str(error)[:300])
    assert found.verdict is not None
    apart, error = measure_errors(found)
    return Row(
        seed, scene, unknowns, found.verdict.level, apart, error, found.iterations, time.process_time() - begun,
        found.verdict.reasons,
    )  # fmt: skip


def measure_errors(found: Result) -> tuple[float, float]:
    """Return the largest error in ±, and relative to the largest number of its unknown; infinity without a ±."""
    apart, relative = 0.0, 0.0
    for one in found.estimates:
        assert one.truth is not None
        off = (one.found - one.truth).abs()
        sure = torch.full_like(off, math.nan) if one.deviation is None else one.deviation
        apart = max(apart, float((off / sure).nan_to_num(math.inf).max()))
        relative = max(relative, float(off.max() / one.truth.abs().max().clamp(min=1e-12)))
    return apart, relative


def summarise(rows: list[Row]) -> list[str]:
    """Return the sentences and the table of a study, in Markdown."""
    good = sum(row.level == "green" and row.right for row in rows)
    wrong = sum(row.level == "green" and not row.right for row in rows)
    lines = [f"{good} of {len(rows)} green and right, {wrong} green and wrong; "
             f"{sum(row.seconds for row in rows):.0f} s of processor in all.", "",
             "| seed | scene | unknowns | verdict | right | error / ± | error | iterations | s | reason |",
             "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        cells = (row.seed, row.scene.replace("|", "/"), row.unknowns, row.level, "yes" if row.right else "no",
                 f"{row.deviations:.2g}", f"{100 * row.error:.2g} %", row.iterations, f"{row.seconds:.0f}",
                 row.reason.replace("|", "/").replace("\n", " "))  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="first seed; from 1000 on the table is stored")
    parser.add_argument("--count", type=int, default=SCENES, help="number of scenes")
    parser.add_argument("--folder", type=Path, default=Path("runs/first-hour"), help="folder for meshes")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for seed in range(given.first, given.first + given.count):
        rows.append(fit_scene(seed, given.folder))
        row = rows[-1]
        ended = f"{row.deviations:.3g} ± {100 * row.error:.3g} % {row.iterations} it {row.seconds:.0f} s"
        print(
            f"{seed:5d} {row.level:6s} right={row.right} {ended} {row.scene} [{row.unknowns}] {row.reason}", flush=True
        )
    told = summarise(rows)
    print(told[0])
    if given.first < 1000:
        return
    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    head = ["# Small random scenes with defaults only", "",
            f"`python experiments/first_hour_study.py --first {given.first}`, commit {commit}, version {__version__}, "
            f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores.", ""]  # fmt: skip
    (RESULTS / "first-hour.md").write_text("\n".join([*head, *told]) + "\n")
    (RESULTS / "first-hour.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    write_origin(RESULTS / "first-hour.md", RESULTS / "first-hour.json")


if __name__ == "__main__":
    main()
