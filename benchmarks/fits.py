"""Fits by this checkout beside those of another, by turns: `python benchmarks/fits.py --other ../before`.

Both fit the same experiment files, which lie in this one, with the same seeds, on one thread, each in a process of its
own that has fitted each file's reduced version before. The other checkout has a `.venv` of its own. Seconds are of the
processor and of the wall clock; error is the largest relative one among the unknowns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILES = ("rigid-contact-linear", "cloth-velocity")
WORKER = """
import json, sys, time
import torch
torch.set_num_threads(1)
from diffloom_fitting import build_experiment, load_file, run_fit
for line in sys.stdin:
    file, seed, changes, quick = json.loads(line)
    experiment = build_experiment(load_file(file, changes={"seed": seed, **changes}, quick=quick))
    wall, busy = time.perf_counter(), time.process_time()
    result = run_fit(experiment)
    found = {"processor": time.process_time() - busy, "wall": time.perf_counter() - wall}
    found |= {"loss": result.loss, "evaluations": result.evaluations, "iterations": result.iterations}
    found["error"] = max(float(e.error) for e in result.estimates)
    found["starts"] = 1 + max(r.start for r in result.history)
    print(json.dumps(found), flush=True)
"""


class Checkout:
    """A process that fits with the code of one checkout."""

    def __init__(self, root: Path) -> None:
        python = root / ".venv/bin/python"
        self._process = subprocess.Popen(
            [str(python), "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "DIFFLOOM_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def fit(self, file: Path, seed: int, changes: dict[str, Any], quick: bool = False) -> dict[str, Any]:
        """Return the outcome of one fit, and its time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(file), seed, changes, quick]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            sys.exit("a process that fits has ended: see above")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, required=True, help="the other checkout")
    parser.add_argument("--file", action="append", help="experiments, without .toml")
    parser.add_argument("--seeds", default="300:304", help="FIRST:END")
    parser.add_argument("--renderer", default="softras")
    given = parser.parse_args()
    first, end = (int(part) for part in given.seeds.split(":"))
    checkouts = {"other": Checkout(given.other), "this": Checkout(ROOT)}
    print("| experiment | seed | checkout | starts | evaluations | loss | error | processor s | wall s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in given.file or FILES:
        file, changes = ROOT / "experiments" / f"{name}.toml", {"renderer.name": given.renderer}
        for one in checkouts.values():
            one.fit(file, first, changes, quick=True)
        totals = {label: [0.0, 0.0] for label in checkouts}
        for seed in range(first, end):
            for label, one in checkouts.items():
                found = one.fit(file, seed, changes)
                totals[label][0] += found["processor"]
                totals[label][1] += found["wall"]
                print(
                    f"| {name} | {seed} | {label} | {found['starts']} | {found['evaluations']} | {found['loss']:.1e} | "
                    f"{found['error']:.1e} | {found['processor']:.2f} | {found['wall']:.2f} |", flush=True,
                )  # fmt: skip
        (busy, wall), (own, shown) = totals["other"], totals["this"]
        print(f"| {name} | all | other / this | | | | | {busy:.2f} / {own:.2f} = {busy / own:.2f} | "
              f"{wall:.2f} / {shown:.2f} = {wall / shown:.2f} |", flush=True)  # fmt: skip
    for one in checkouts.values():
        one.close()


if __name__ == "__main__":
    main()
