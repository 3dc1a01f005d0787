"""What a fit ran with."""

from __future__ import annotations

import json
import os
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path

import torch

MOST_THREADS = 1024
WATCHED = ("torch", "numpy", "numba", "llvmlite", "scipy", "trimesh", "av", "pydantic", "matplotlib", "cmaes")


def versions() -> dict[str, str]:
    """Names and versions of all that may change a result: libraries, diffloom and its plugins, and the machine."""
    return {**_libraries(), "threads": str(torch.get_num_threads())}


def use_threads_of(folder: Path) -> None:
    """Let PyTorch use as many threads as when the run in ``folder`` began: products of matrices round by their number,
    so that a run resumed with another would not reach the same bits."""
    try:
        told = json.loads((folder / "versions.json").read_text(encoding="utf-8"))["threads"]
        count = int(told)
    except (OSError, ValueError, KeyError, TypeError):
        return
    if 1 <= count <= MOST_THREADS:
        torch.set_num_threads(count)


@cache
def _libraries() -> dict[str, str]:
    found = {"python": sys.version.split()[0], "system": platform.platform(), "processor": _processor()}
    for name in ("diffloom-core", *WATCHED):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    for entry in entry_points(group="diffloom"):
        if entry.dist is not None:
            found[entry.dist.name] = entry.dist.version
    return dict(sorted(found.items()))


@cache
def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            named = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        named = []
    return f"{named[0] if named else platform.processor() or 'unknown'}, {os.cpu_count()} cores"
