"""Golden records in a file: ``python tests/golden/record.py [--only NAME]`` writes records.json anew.

Floats are written as hexadecimal numbers, which keep every bit; texts have a mark in front. Beside them stands the
environment: what the bits depend on other than the code of this repository.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

# As in the tests: one thread, and kernels compiled for one target.
os.environ.setdefault("DIFFLOOM_PARALLEL_FROM", "1e9")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

RECORDS = Path(__file__).with_name("records.json")
TEXT = "text "


def environment() -> dict[str, str]:
    """Return the processor as compiled kernels and PyTorch see it, and the versions of the libraries that compute."""
    import llvmlite
    import numba
    import numpy as np
    import torch
    from numba.core.registry import cpu_target

    triple, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return {
        "triple": triple,
        "processor": processor,
        "features": ",".join(name for name in features.split(",") if name.startswith("+")),
        "torch capability": torch.backends.cpu.get_cpu_capability(),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": np.__version__,
        "torch": torch.__version__,
    }


def encoded(numbers: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return numbers as JSON holds them: hexadecimal floats, marked texts, ints and null."""
    return {name: [_encoded(value) for value in values] for name, values in numbers.items()}


def _encoded(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return TEXT + value
    if isinstance(value, int):
        return value
    assert isinstance(value, float), f"a golden record cannot hold {type(value).__name__}"
    return value.hex()


def decoded(value: Any) -> Any:
    """Return the inverse of `encoded` of one value."""
    if not isinstance(value, str):
        return value
    return value.removeprefix(TEXT) if value.startswith(TEXT) else float.fromhex(value)


def read() -> dict[str, Any]:
    """Return the records of the file: environment, and numbers by case."""
    found: dict[str, Any] = json.loads(RECORDS.read_text(encoding="utf-8"))
    return found


def write(place: Path, records: dict[str, Any]) -> None:
    """Write records, one line for each list."""
    lines = ["{", f' "environment": {json.dumps(records["environment"], indent=2)},', ' "cases": {']
    names = sorted(records["cases"])
    for name in names:
        rows = [f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in records["cases"][name].items()]
        lines += [f"  {json.dumps(name)}: {{", ",\n".join(rows), "  }" + ("," if name != names[-1] else "")]
    place.write_text("\n".join([*lines, " }", "}"]) + "\n", encoding="utf-8")


def main() -> None:
    """Compute all cases, or those that are named, and write them."""
    from golden.cases import CASES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", choices=sorted(CASES), help="record this case alone")
    parser.add_argument("--out", type=Path, default=RECORDS, help="another file to write")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch; the records are of one")
    given = parser.parse_args()
    if given.threads != 1 and given.out == RECORDS:
        parser.error("the records are of one thread: give another --out to compare with")
    records: dict[str, Any] = {"environment": environment(), "cases": {}}
    if given.only:
        kept = read()
        if kept["environment"] != records["environment"]:
            parser.error("the records were made in another environment: record all of them")
        records["cases"] = {name: value for name, value in kept["cases"].items() if name in CASES}
    for name in given.only or CASES:
        began = time.perf_counter()
        records["cases"][name] = encoded(CASES[name].numbers(given.threads))
        print(f"{name}: {time.perf_counter() - began:.2f} s", flush=True)
    write(given.out, records)


if __name__ == "__main__":
    main()
