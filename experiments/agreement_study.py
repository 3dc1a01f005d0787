"""Agreement of fits to disjoint subsets of the cube's tosses: how often do the intervals of two subsets agree?

Each subset is fitted alone with the stages of experiments/real/real-cube.toml. Two intervals agree if the two
estimates differ by less than 1.96 times the root of the sum of their squared deviations; of honest intervals 95 % of
the pairs do. The spread of the estimates over the subsets, relative to the mean deviation, is the factor by which ±
would have to grow.

    DIFFLOOM_REAL_DATA=FOLDER python experiments/agreement_study.py --subsets 20 --out agreement.json
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffloom_fitting import run_fit
from diffloom_motion import load_motion

FILE = Path(__file__).parent / "real" / "real-cube.toml"
TWO_SIDED = 1.96
#: Deviations of the unknowns of one subset by name, with its estimates.
Fit = dict[str, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--subsets", type=int, default=20)
    parser.add_argument("--tosses", type=int, default=380, help="tosses of the recording that are shared out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], dest="settings", help="changes of the file's keys")
    given = parser.parse_args()
    fits: list[Fit] = json.loads(given.out.read_text()) if given.out.exists() else []
    for number in range(len(fits), given.subsets):
        fits.append(fit_subset(given.file, number, given.subsets, given.settings))
        given.out.write_text(json.dumps(fits))
        print(number, {name: each["found"] for name, each in fits[-1].items()}, flush=True)
    for line in summarise(fits):
        print(line)


def fit_subset(file: Path, number: int, subsets: int, settings: Sequence[str]) -> Fit:
    """Fit every n-th toss of the file, from the given one on."""
    changes = [f'clips.fit="{number}::{subsets}"', "clips.share=1.0", *settings]
    found = run_fit(
        load_motion(str(file), tuple(changes), changes={"clips.holdout": f"{(number + 1) % subsets}:380:380"})
    )
    return {
        each.name: {
            "found": np.atleast_1d(np.asarray(each.found)).tolist(),
            "deviation": None if each.deviation is None else np.atleast_1d(np.asarray(each.deviation)).tolist(),
        }
        for each in found.estimates
    }


def summarise(fits: Sequence[Fit]) -> list[str]:
    """Return a line for each unknown: share of agreeing pairs, spread and mean deviation."""
    lines = ["unknown: pairs of subsets that agree to 95 %, spread of the estimates / mean deviation"]
    shares = []
    for name in fits[0]:
        whole = [fit[name] for fit in fits if fit[name]["deviation"] is not None]
        if len(whole) < 2:
            lines.append(f"{name}: no ± in {len(fits) - len(whole)} of {len(fits)} subsets")
            continue
        for row in range(len(whole[0]["found"])):
            found = np.array([each["found"][row] for each in whole])
            wide = np.array([each["deviation"][row] for each in whole])
            pairs = [
                abs(found[i] - found[j]) <= TWO_SIDED * np.hypot(wide[i], wide[j])
                for i, j in itertools.combinations(range(len(found)), 2)
            ]
            shares += pairs
            spread = found.std(ddof=1)
            lines.append(
                f"{name}[{row}]: {100 * np.mean(pairs):.0f} % of {len(pairs)} pairs, spread {spread:.3g}, mean "
                f"deviation {wide.mean():.3g}, factor {spread / wide.mean():.2f}"
            )
    return [*lines, f"all unknowns: {100 * np.mean(shares):.1f} % of {len(shares)} pairs agree"]


if __name__ == "__main__":
    main()
