"""Cost of wrong models: the paper's Table 4 (left), and the verdict of each fit.

    python experiments/imperfect_models.py                 # all rows, 30 objects each; finished fits are kept
    python experiments/imperfect_models.py --row friction --count 2 --quick --out try

Each object is a seed, which draws shape, density, throw and guess; seeds start at 100, and none of them was looked at
when the settings were chosen (seeds 0 to 3 were). Results go to results/imperfect-models.json and .md beside this file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.origin import write_origin
from diffloom_fitting.fits import run_fit

FOLDER = Path(__file__).resolve().parent
FIRST, COUNT = 100, 30
KINDS = ("rigid", "ball", "cloth")

#: Rows of the table: title, the paper's error, the file's variant, and which objects it is about.
ROWS: dict[str, tuple[str, float, str | None, tuple[str, ...]]] = {
    "perfect": ("perfect model", 0.1071, None, KINDS),
    "friction": ("unmodelled friction", 0.1866, "unmodelled_friction", KINDS),
    "elasticity": ("unmodelled elasticity", 0.2281, "unmodelled_elasticity", KINDS),
    "rigid_as_deformable": ("rigid as deformable", 0.3462, "rigid_as_deformable", ("ball",)),
    "deformable_as_rigid": ("deformable as rigid", 0.4974, "deformable_as_rigid", ("ball",)),
    "photorealistic": ("photorealistic render", 0.1793, "photorealistic", KINDS),
}


def fitted(kind: str, variant: str | None, seed: int, quick: bool) -> dict[str, Any]:
    """One fit: error of the mass, verdict and seconds of processor time."""
    begin = time.process_time()
    loaded = load_file(
        FOLDER / f"imperfect-{kind}.toml", quick=quick, variants=[] if variant is None else [variant],
        changes={"seed": seed},
    )  # fmt: skip
    found = run_fit(build_experiment(loaded))
    return {
        "error": found.estimates[0].error, "loss": found.loss, "verdict": found.verdict.level,
        "explained": found.verdict.explained.level, "reasons": found.verdict.reasons,
        "seconds": time.process_time() - begin,
    }  # fmt: skip


def cases(row: str, count: int) -> list[tuple[str, int]]:
    """Kind and seed of each object of a row: kinds take turns."""
    kinds = ROWS[row][3]
    return [(kinds[n % len(kinds)], FIRST + n // len(kinds)) for n in range(count)]


def table(records: list[dict[str, Any]]) -> str:
    """The table, with what has been run so far."""
    lines = [
        "| model | objects | paper: mean relative error | mean | median | verdict red, amber, green | "
        '"not explained" or in part | s / fit |',
        "|---|---|---|---|---|---|---|---|",
    ]
    for row, (title, paper, _variant, _kinds) in ROWS.items():
        own = [r for r in records if r["row"] == row]
        if not own:
            continue
        errors = [r["error"] for r in own]
        levels = [sum(r["verdict"] == level for r in own) for level in ("red", "amber", "green")]
        told = sum(r["explained"] != "green" for r in own)
        lines.append(
            f"| {title} | {len(own)} | {paper:.3f} | {statistics.mean(errors):.2g} | {statistics.median(errors):.2g} | "
            f"{', '.join(map(str, levels))} | {told} of {len(own)} | "
            f"{statistics.mean(r['seconds'] for r in own):.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", choices=list(ROWS), action="append", help="only these rows")
    parser.add_argument("--count", type=int, default=COUNT, help="objects of a row")
    parser.add_argument("--quick", action="store_true", help="the reduced version that a test runs")
    parser.add_argument("--out", type=Path, default=FOLDER / "results")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "imperfect-models.json"
    records: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    done = {(r["row"], r["kind"], r["seed"]) for r in records}
    for row in given.row or ROWS:
        for kind, seed in cases(row, given.count):
            if (row, kind, seed) in done:
                continue
            found = fitted(kind, ROWS[row][2], seed, given.quick)
            records.append({"row": row, "kind": kind, "seed": seed, **found})
            file.write_text(json.dumps(records, indent=1) + "\n")
            print(row, kind, seed, f"{found['error']:.2g}", found["verdict"], f"{found['seconds']:.1f} s", flush=True)
    (given.out / "imperfect-models.md").write_text("# Imperfect models\n\n" + table(records))
    write_origin(file, file.with_suffix(".md"))
    print(table(records))


if __name__ == "__main__":
    main()
