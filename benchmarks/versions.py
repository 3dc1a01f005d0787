"""Compare the speed of this checkout with another's: their benchmarks, call by call in turn.

    python benchmarks/versions.py ../before/.venv/bin/python ../before [--families fem softras] [--rounds 30]

Either checkout runs in a process of its own that stays, on one thread, and both are asked for the same case in turn.
The best call of each counts: on a busy machine a call of some milliseconds is often left alone, a whole run is not.
--clock processor counts processor time of the calling thread, which waiting for other threads does not lengthen.
Ratios are seconds of the other checkout over ours, forward and with gradient: above 1 this checkout is quicker.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Seconds = tuple[float, float]
HERE = Path(__file__).resolve()
RENDERED = list(itertools.product((1, 2, 3), (64, 128), ("unlit", "phong")))
FAMILIES: dict[str, list[list[Any]]] = {
    "fem": [[100], [1000]],
    "cloth": [[128], [512], [2048]],
    "rigid": [["box", 1], ["box", 10], ["box", 100], ["pear", 1], ["pear", 10]],
    "softras": [list(case) for case in RENDERED],
    "dibr": [list(case) for case in RENDERED],
}


def rollout(family: str, size: int) -> Callable[[], Seconds]:
    """A block or a sheet: whole calls of simulate, as long as the benchmark has them."""
    benchmark = __import__(family)
    run, steps = benchmark.ours(size, "serial"), benchmark.steps_for(size)
    return lambda: (run(False, steps)[0], run(True, steps)[0])


def bodies(shape: str, count: int) -> Callable[[], Seconds]:
    """Rigid bodies dropped on the ground."""
    rigid = __import__("rigid")
    case = rigid.case_of(shape, count, False)

    def measure() -> Seconds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rates = rigid.ours(case, 2)
        return 1.0 / rates["forward"], 1.0 / rates["both"]

    return measure


def image(family: str, level: int, size: int, shading: str) -> Callable[[], Seconds]:
    """Four frames of a sphere."""
    dibr = __import__("dibr")
    renderer = dibr.get_renderer(family)(target="serial")
    surface, camera = dibr.scene(level, size, 4, shading)

    def measure() -> Seconds:
        forward, backward = dibr.once(renderer, surface, camera, "wall")
        return forward, forward + backward

    return measure


def measured(family: str, case: list[Any]) -> Callable[[], Seconds]:
    """One case, set up."""
    if family == "rigid":
        return bodies(*case)
    return image(family, *case) if family in ("softras", "dibr") else rollout(family, *case)


def serve(clock: str) -> None:
    """Answer each line, a case and how many calls, with the least seconds of the calls."""
    if clock == "processor":  # in place of the other before any benchmark, old or new, takes it
        time.perf_counter = time.thread_time
    ready: dict[str, Callable[[], Seconds]] = {}
    for line in sys.stdin:
        family, case, calls = json.loads(line)
        key = json.dumps([family, case])
        if key not in ready:
            ready[key] = measured(family, case)
            ready[key]()  # compiles
        forward, both = zip(*(ready[key]() for _ in range(calls)), strict=True)
        print(json.dumps([min(forward), min(both)]), flush=True)


class Checkout:
    """A process that measures what its checkout holds."""

    def __init__(self, python: str, tree: Path, clock: str) -> None:
        variables = {"DIFFLOOM_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "DIFFLOOM_QUIET": "1"}
        self.process = subprocess.Popen(
            [python, str(HERE), "--serve", str(tree.resolve() / "benchmarks"), clock],
            env={**os.environ, **variables}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, family: str, case: list[Any], calls: int) -> list[float]:
        """The least seconds forward and with gradient."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([family, case, calls]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"the checkout could not measure {family} {case}: see its message above")
        found: list[float] = json.loads(answer)
        return found


def compare(family: str, ours: Checkout, other: Checkout, rounds: int) -> None:
    """Print a line a case, and the family's geometric mean."""
    ratios: list[float] = []
    for case in FAMILIES[family]:
        best = {ours: [math.inf, math.inf], other: [math.inf, math.inf]}
        for _ in range(rounds):
            for checkout in best:
                best[checkout] = list(map(min, best[checkout], checkout.ask(family, case, 3)))
        pair = [b / a for a, b in zip(best[ours], best[other], strict=True)]
        ratios += pair
        name = " ".join(map(str, case))
        print(f"{family:8} {name:14} forward {pair[0]:5.3f}  with gradient {pair[1]:5.3f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{family:8} {'mean':14} {mean:5.3f}, least {min(ratios):5.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the other checkout's Python")
    parser.add_argument("tree", type=Path, help="the other checkout")
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    given = parser.parse_args()
    start = time.perf_counter()
    ours, other = (
        Checkout(python, tree, given.clock)
        for python, tree in ((sys.executable, HERE.parents[1]), (given.python, given.tree))
    )
    for family in given.families:
        compare(family, ours, other, given.rounds)
    print(f"{time.perf_counter() - start:.0f} s, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        sys.path[0] = sys.argv[2]
        serve(sys.argv[3])
    else:
        main()
