"""Audit of gradients: ``python tests/attack/gradient_audit.py FILE --seed 1 --scenes 1``.

Every combination of installed model, integrator, contact law and renderer is drawn as random scenes in double
precision, and the derivative of the image loss by random parameters is compared with differences. An error is "left
out" where the renderer's page says which part of the gradient it leaves out, and the scene has that part. Results are
appended to FILE, one line for each scene; scenes in it are not done again, so an audit that was stopped goes on.
``--summary`` prints the counts of files.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

#: Largest error that agrees, relative to the derivative, or to a thousandth of the scene's gradient if that is larger.
TOLERANCE = 1e-5
SMALL = 1e-3
#: Parameters of a scene that are compared, chosen at random.
MOST = 8
OUTCOMES = ("agrees", "flat", "kink", "unresolved", "left out", "at a bound", "wrong")


def audit_scene(combination, seed: int) -> dict[str, object]:
    """Return the comparisons of one random scene."""
    import torch
    from audit_scenes import Scene
    from slopes import compare_slope, measure_rounding

    from diffloom.interfaces import InputError

    began = time.perf_counter()
    scene = Scene(combination, seed)
    leaves = {name: scene.base[name].clone().requires_grad_() for name in scene.sought}
    loss = scene.loss(scene.base.replace(**leaves))
    grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    ways = scene.directions()
    slopes = {
        name: 0.0 if grad is None else float((grad * ways[name]).sum())
        for name, grad in zip(leaves, grads, strict=True)
    }
    norm = max(sum(slope**2 for slope in slopes.values()) ** 0.5, 1e-300)
    rows = {}
    middle, rounding = float(loss.detach()), 0.0
    for name in scene.random.sample(sorted(slopes), min(MOST, len(slopes))):

        def along(t: float, name: str = name) -> float:
            with torch.no_grad():
                return float(scene.loss(scene.base.replace(**{name: scene.base[name] + t * ways[name]})))

        slope = slopes[name]
        try:
            rounding = rounding or measure_rounding(along, middle)
            scale = max(abs(slope), SMALL * norm)
            rows[name] = dataclasses.asdict(compare_slope(along, slope, scale, TOLERANCE, middle, rounding))
        except InputError as error:
            rows[name] = {"outcome": "at a bound", "why": str(error)[:200]}
    omission = scene.find_omission() if any(row["outcome"] == "wrong" for row in rows.values()) else ""
    for row in rows.values():
        if omission and row["outcome"] == "wrong":
            row |= {"outcome": "left out", "why": omission}
    return {**combination._asdict(), "seed": seed, "loss": middle, "norm": norm, "rows": rows,
            "seconds": time.perf_counter() - began}  # fmt: skip


def run_audit(file: Path, first: int, scenes: int, only: str) -> int:
    """Audit the scenes that the file lacks; return 1 if a derivative is wrong."""
    from audit_scenes import list_combinations

    combinations, left_out = list_combinations()
    done = {key(row) for row in read_rows([file])}
    wrong = 0
    for seed in range(first, first + scenes):
        for combination in combinations:
            if only not in " ".join(combination) or (*combination, seed) in done:
                continue
            found = audit_scene(combination, seed)
            with file.open("a") as out:
                out.write(json.dumps(found) + "\n")
            counts = Counter(row["outcome"] for row in found["rows"].values())
            wrong += counts["wrong"]
            print(*combination, seed, dict(counts), f"{found['seconds']:.1f} s", flush=True)
    for what, reason in left_out:
        print(f"left out: {what}: {reason}")
    return 1 if wrong else 0


def key(row: dict) -> tuple:
    """Return what a line of a file is about."""
    return row["model"], row["integrator"], row["law"], row["renderer"], row["seed"]


def read_rows(files: list[Path]) -> list[dict]:
    """Return the scenes in some files."""
    return [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]


def summarise(rows: list[dict], field: str) -> str:
    """Return a table of counts, one line for each model, integrator, law or renderer."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    worst: dict[str, float] = defaultdict(float)
    for row in rows:
        name = row[field] or "none"
        counts[name]["scenes"] += 1
        for one in row["rows"].values():
            counts[name][one["outcome"]] += 1
            if one["outcome"] == "agrees":
                worst[name] = max(worst[name], one["error"])
    lines = [f"| {field} | scenes | {' | '.join(OUTCOMES)} | worst error that agrees |",
             "|---" * (len(OUTCOMES) + 3) + "|"]  # fmt: skip
    for name, found in sorted(counts.items()):
        cells = [str(found["scenes"]), *(str(found[outcome]) for outcome in OUTCOMES)]
        lines.append(f"| {name} | {' | '.join(cells)} | {worst[name]:.1e} |")
    return "\n".join(lines)


def main() -> int:
    """Run the audit, or print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="file of results; several to sum up")
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--scenes", type=int, default=1, help="scenes of each combination")
    parser.add_argument("--only", default="", help="combinations whose names hold these words")
    parser.add_argument("--summary", action="store_true", help="print the counts of the files, and audit nothing")
    given = parser.parse_args()
    if not given.summary:
        return run_audit(given.files[0], given.seed, given.scenes, given.only)
    rows = read_rows(given.files)
    print("\n\n".join(summarise(rows, field) for field in ("model", "integrator", "law", "renderer")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
