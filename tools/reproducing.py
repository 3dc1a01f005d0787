"""Write docs/reproducing.md, the paper's tables and figures beside ours, from the figures in experiments/results:

python tools/reproducing.py
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "experiments" / "results", ROOT / "docs" / "reproducing.md"
IMAGES = ROOT / "docs" / "images" / "results"
COPIED = ("landscape-mass.png", "landscape-lame.png", "shading-cues.png", "control-walker.svg", "control-fem.svg",
            "control-cloth.svg", "soft-crawler.png")  # fmt: skip
#: Pairs of "renderer of the fit <- renderer of the video": those of two renderers first.
CROSS, OWN = ("dibr <- softras", "softras <- dibr"), ("softras <- softras", "dibr <- dibr")
#: Tables 1 to 3 of the paper: experiment, unknown, name there, and the paper's errors from video and from 3D states.
TABLES = {
    "Table 1: mass of a rigid body": (("rigid-mass", "density", "mass", "9.01e-5", "5.17e-9"),),
    "Table 2: contact of a rigid body": (
        ("rigid-contact-linear", "mass", "m", "2.87e-4", "1.70e-8"),
        ("rigid-contact-linear", "contact_damping", "kd", "0.4", "0.036"),
        ("rigid-contact-linear", "contact_stiffness", "ke", "0.0026", "0.0020"),
        ("rigid-contact-linear", "friction_stiffness", "kf", "0.0017", "0.0007"),
        ("rigid-contact-linear", "friction", "μ", "0.0073", "0.0107"),
    ),
    "Table 3: deformable bodies": (
        ("fem-mass", "mass", "mass of each particle", "0.048", "0.032"),
        ("fem-material", "shear_modulus", "μ", "0.0054", "0.0025"),
        ("fem-material", "lame_modulus", "λ", "0.0056", "0.0024"),
        ("cloth-velocity", "velocity", "velocity of each particle", "0.026", "0.127"),
    ),
}  # fmt: skip
#: Table 4 (left): row of ours, name there, error there.
IMPERFECT = (
    ("perfect", "perfect model", "0.1071"),
    ("friction", "unmodelled friction", "0.1866"),
    ("elasticity", "unmodelled elasticity", "0.2281"),
    ("rigid_as_deformable", "rigid as deformable", "0.3462"),
    ("deformable_as_rigid", "deformable as rigid", "0.4974"),
    ("photorealistic", "photorealistic render", "0.1793"),
)


def read(name: str) -> list[dict]:
    """Return the records of a result."""
    found: list[dict] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def cell(name: str, unknown: str, pair: str) -> str:
    """Return the median error of an unknown with its worst, and the number of fits."""
    fits = [fit for fit in read(name) if fit["pair"] == pair]
    errors = [e["error"] for fit in fits for e in fit["estimates"] if e["name"] == unknown]
    return f"{statistics.median(errors):.0e}, {max(errors):.0e}, of {len(errors)}" if errors else "not run"


def make_table(rows: tuple[tuple[str, ...], ...]) -> str:
    """Return one of the paper's tables of errors beside ours."""
    head = ("unknown", "paper, from video", "dibr ← softras", "softras ← dibr", "*inverse crime:* softras")
    head += ("*inverse crime:* dibr", "paper, 3D states", "ours, 3D states")
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name, unknown, there, video, states in rows:
        cells = [cell(name, unknown, pair) for pair in (*CROSS, *OWN)]
        lines.append(f"| {there} | {video} | {' | '.join(cells)} | {states} | {cell(name, unknown, '3D states')} |")
    names = list(dict.fromkeys(row[0] for row in rows))
    pairs = "--pair dibr:softras --pair softras:dibr --pair softras --pair dibr"
    commands = "\n".join(
        f"diffloom sweep experiments/{name}.toml --seeds 0:10 {pairs} --baseline state" for name in names
    )
    return "\n".join(lines) + f"\n\n```text\n{commands}\n```\n"


def make_imperfect() -> str:
    """Return Table 4 (left) beside ours."""
    lines = ["| model | paper: mean relative error | ours: mean | median | green verdicts |", "|" + "---|" * 5]
    records = read("imperfect-models")
    for row, there, error in IMPERFECT:
        mine = [record for record in records if record["row"] == row]
        errors = [record["error"] for record in mine]
        green = sum(record["verdict"] == "green" for record in mine)
        found = f"{statistics.mean(errors):.2g} | {statistics.median(errors):.2g} | {green} of {len(mine)}"
        lines.append(f"| {there} | {error} | {found} |")
    return "\n".join(lines)


def make_control() -> str:
    """Return Figures 5 and 6 beside ours: the squared distance of the centre from its goal at the end."""
    lines = ["| experiment | paper | ours, from one image: mean | worst | seeds | 3D states: mean |", "|" + "---|" * 6]
    there = {"control-walker": "solved in 3 iterations", "control-fem": "0.107 after 40"}
    there["control-cloth"] = "0.199 after 50"
    records = [record for record in read("control") if record["renderer"] == "softras"]
    for name, told in there.items():
        rows = {
            way: [r["errors"][-1] for r in records if (r["experiment"], r["way"]) == (name, way)]
            for way in ("pixels", "state")
        }
        pixels = rows["pixels"]
        lines.append(
            f"| {name} | {told} | {statistics.mean(pixels):.2g} | {max(pixels):.2g} | {len(pixels)} "
            f"| {statistics.mean(rows['state']):.2g} |"
        )
    return "\n".join(lines)


def make_page() -> str:
    """Return the page."""
    tables = "\n".join(f"### {title}\n\n{make_table(rows)}" for title, rows in TABLES.items())
    text = (ROOT / "tools" / "reproducing_page.txt").read_text(encoding="utf-8")
    for mark, made in (("TABLES", tables), ("IMPERFECT", make_imperfect()), ("CONTROL", make_control())):
        text = text.replace(f"<!-- {mark} -->", made)
    return text


def copy_images() -> None:
    """Copy the images of results beside the pages, because a site holds its own folder only."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.copyfile(RESULTS / name, IMAGES / name)


if __name__ == "__main__":
    copy_images()
    PAGE.write_text(make_page(), encoding="utf-8")
    print(f"{PAGE.name}: {PAGE.stat().st_size // 1024} kB")
    sys.exit(0)
