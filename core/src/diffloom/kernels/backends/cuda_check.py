"""``python -m diffloom.kernels.backends.cuda_check``: compile the CUDA kernels of every program without a GPU.

Programs are found by importing ``<package>.programs`` (else its kernel modules) of the core and of every installed
plugin. A module ``programs`` may define ``programs()``, which returns programs that are made on demand. Only programs
with ``samples`` can be checked, since types come from them; others are named. Where numba-cuda-mlir and numba-cuda are
both installed, each compiles everything.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points, version
from typing import Any

import numpy as np

from ..compile.arguments import structured, with_real_scalars
from ..compile.program import REGISTERED, Program
from . import cuda, ptx
from .cuda_compilers import chosen, installed

CAPABILITIES = ((8, 0), (9, 0))
DTYPES: dict[str, type] = {"float32": np.float32, "float64": np.float64}


@dataclass(frozen=True)
class Finding:
    """One kernel, compiled for one float type and architecture."""

    program: str
    kernel: str
    dtype: str
    capability: tuple[int, int]
    usage: ptx.Usage
    doubles: int
    refused: str | None = None

    @property
    def fault(self) -> str | None:
        """What is wrong with it: all must compile, and float32 kernels neither spill nor compute in float64."""
        if self.refused is not None or self.dtype != "float32":
            return self.refused
        if self.usage.spill_bytes:
            return f"spills {self.usage.spill_bytes} bytes"
        return f"{self.doubles} float64 instructions" if self.doubles else None

    def __str__(self) -> str:
        sm = f"sm_{self.capability[0]}{self.capability[1]}"
        said = f"{self.usage.registers:4d} registers {self.usage.spill_bytes:4d} B spilled"
        return f"{self.program + '.' + self.kernel:50s} {self.dtype} {sm} {said}  {self.fault or 'ok'}"


def kernels_of(program: Program, dtype: type) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Every kernel of a program with example arguments: the pipelines run on samples, launches are only noted."""
    seen = set()
    for pipeline, args in program.samples(dtype).items() if program.samples else ():
        noted: list[tuple[Any, tuple[Any, ...]]] = []

        def note(
            kernel: Any, stream: Any, counts: tuple[int, ...], given: tuple[Any, ...], noted: list[Any] = noted
        ) -> None:
            noted.append((kernel, (*[np.int64(n) for n in counts], *given)))

        sample = tuple(structured(arg) for arg in args)
        function = cuda.host_pipeline(program, pipeline, sample, note)
        function(0, *[with_real_scalars(cuda.without_functions(arg), dtype) for arg in sample])
        for kernel, given in noted:
            name = f"{pipeline}.{kernel.py_func.__name__.removeprefix('_dl_kernel_')}"
            if name not in seen:
                seen.add(name)
                yield name, kernel, given


def check(
    programs: Iterable[Program],
    dtypes: tuple[type, ...] = (np.float32, np.float64),
    capabilities: tuple[tuple[int, int], ...] = CAPABILITIES,
) -> Iterator[Finding]:
    """Compile every kernel of the programs for every float type and architecture.

    PTX is made for the oldest architecture, which all later ones take, and assembled for each.
    """
    for program in programs:
        for dtype in dtypes:
            for name, kernel, args in kernels_of(program, dtype):
                finding = partial(Finding, program.name, name, dtype.__name__)
                try:
                    text = ptx.to_ptx(kernel, args, min(capabilities))
                except Exception as error:
                    yield finding(min(capabilities), ptx.Usage(0, 0, 0), 0, _refusal(error))
                    continue
                for capability in capabilities:
                    yield _assembled(partial(finding, capability), text, capability)


def _assembled(finding: Callable[..., Finding], text: str, capability: tuple[int, int]) -> Finding:
    """The finding of one kernel; that it is refused is one, not the end of the check."""
    try:
        return finding(ptx.assemble(text, capability), ptx.doubles(text))
    except RuntimeError as error:
        return finding(ptx.Usage(0, 0, 0), 0, _refusal(error))


def _refusal(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"refused: {type(error).__name__}: {lines[0]}"


def collect(modules: list[str]) -> dict[str, Program]:
    """Programs registered by the given modules, or by the core and all installed plugins."""
    if not modules:
        plugins = {point.value.partition(":")[0].partition(".")[0] for point in entry_points(group="diffloom")}
        modules = [m for package in sorted({"diffloom.dynamics", *plugins}) for m in _program_modules(package)]
    for module in map(importlib.import_module, modules):
        for program in getattr(module, "programs", list)():
            REGISTERED.setdefault(program.name, program)
    return dict(REGISTERED)


def _program_modules(package: str) -> list[str]:
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return []
    names = [module.name for module in pkgutil.iter_modules(found.submodule_search_locations if found else [])]
    if "programs" in names:
        return [f"{package}.programs"]
    return [f"{package}.{name}" for name in names if name == "kernels" or name.endswith("_kernels")]


def _with(compiler: str, arguments: list[str]) -> int:
    """Check with one of several compilers, in a process of its own: kernels are made by one in a process."""
    command = [sys.executable, "-m", "diffloom.kernels.backends.cuda_check", *arguments]
    return subprocess.run(command, env={**os.environ, "DIFFLOOM_CUDA_COMPILER": compiler}, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    """Print one line per kernel; 1 when one is refused, or in float32 spills or holds float64 instructions."""
    parser = argparse.ArgumentParser(
        prog="python -m diffloom.kernels.backends.cuda_check", description=__doc__.split("\n")[0]
    )
    parser.add_argument("modules", nargs="*", help="modules whose programs to check; all of diffloom's by default")
    parser.add_argument("--program", action="append", help="check this program alone; may be given again")
    parser.add_argument("--dtype", action="append", choices=tuple(DTYPES), help="and these numbers alone")
    options = parser.parse_args(arguments)
    if missing := ptx.why_unavailable():
        print(f"cannot check: {missing}", file=sys.stderr)
        return 2
    if "DIFFLOOM_CUDA_COMPILER" not in os.environ and len(installed()) > 1:
        return max(_with(compiler, sys.argv[1:] if arguments is None else arguments) for compiler in installed())
    print(f"kernels by {chosen()} {version(str(chosen()))}")
    programs = collect(options.modules)
    if unknown := sorted(set(options.program or ()) - programs.keys()):
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(sorted(programs))}")
    programs = {name: program for name, program in programs.items() if name in (options.program or programs)}
    dtypes = tuple(DTYPES[name] for name in options.dtype or DTYPES)
    findings, faults = 0, 0
    for finding in check((program for program in programs.values() if program.samples), dtypes):
        print(finding, flush=True)
        findings += 1
        faults += finding.fault is not None
    for program in programs.values():
        if not program.samples:
            print(f"{program.name}: has no samples, not checked")
    print(f"{findings} compilations, {faults} faults")
    return 1 if faults or not findings else 0


if __name__ == "__main__":
    sys.exit(main())
