"""``python -m diffloom_kernels.backends.cuda_check``: compile the CUDA kernels of every program without a GPU.

Programs are found by importing ``<package>.programs`` (else its kernel modules) of mechanics and of every installed
plugin. A module ``programs`` may define ``programs()``, which returns programs that are made on demand. Only programs
with ``samples`` can be checked, since types come from them; programs without are listed. If numba-cuda-mlir and
numba-cuda are both installed, each compiles everything. Findings are stored beside compiled kernels, by content: an
interrupted check resumes, and after a change only the changed kernels are compiled.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ..compile.arguments import convert_tensors, with_real_scalars
from ..compile.program import REGISTERED, Program
from . import cuda, ptx
from .cuda_compilers import choose_compiler, list_installed
from .cuda_findings import KernelFinding, LapTimer, format_table, read_findings, write_findings

CAPABILITIES = ((8, 0), (9, 0))
NOTHING = ptx.Usage(0, 0, 0)
DTYPES: dict[str, type] = {"float32": np.float32, "float64": np.float64}


def list_kernels(program: Program, dtype: type) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield every kernel of a program with example arguments: pipelines run on samples, and launches are recorded."""
    seen = set()
    for pipeline, args in program.samples(dtype).items() if program.samples else ():
        noted: list[tuple[Any, tuple[Any, ...]]] = []

        def note(
            kernel: Any, stream: Any, counts: tuple[int, ...], given: tuple[Any, ...], noted: list[Any] = noted
        ) -> None:
            noted.append((kernel, (*[np.int64(n) for n in counts], *given)))

        sample = tuple(convert_tensors(arg) for arg in args)
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
    keep: bool = False,
) -> Iterator[KernelFinding]:
    """Compile every kernel of the programs for every float type and architecture.

    PTX is made for the oldest architecture, which all later ones accept, and assembled for each. With ``keep`` stored
    findings on the same kernels are used, and new ones are stored; refused kernels are tried again.
    """
    for program in programs:
        for dtype in dtypes:
            for name, kernel, args in list_kernels(program, dtype):
                known = program.spills.get(re.sub(r"^.*\.\d+_|_\d+$", "", name))
                finding = partial(KernelFinding, program.name, name, dtype.__name__, known=known)
                path = _get_findings_path(kernel, args, capabilities)
                found = read_findings(path, finding) if keep else []
                if not found:
                    found = _compile_kernel(finding, kernel, args, capabilities)
                    if keep and not any(each.refused for each in found):
                        write_findings(path, found)
                yield from found


def _get_findings_path(kernel: Any, args: tuple[Any, ...], capabilities: tuple[tuple[int, int], ...]) -> Path:
    """Return the file of the findings on a kernel: beside its source, whose name has a hash of the content."""
    kinds = [str(numba.typeof(arg)) for arg in args]
    digest = hashlib.sha256(repr((kernel.py_func.__name__, kinds, choose_compiler(), capabilities)).encode())
    for module in (cuda, ptx):
        digest.update(Path(str(module.__file__)).read_bytes())
    with contextlib.suppress(PackageNotFoundError):
        digest.update(version("nvidia-cuda-nvcc").encode())
    return Path(kernel.py_func.__code__.co_filename).with_suffix(f".{digest.hexdigest()[:16]}.json")


def _compile_kernel(
    finding: Callable[..., KernelFinding], kernel: Any, args: tuple[Any, ...], capabilities: tuple[tuple[int, int], ...]
) -> list[KernelFinding]:
    """Compile one kernel, and return its findings; a refusal is a finding and does not end the check."""
    watch = LapTimer()
    try:
        text = ptx.to_ptx(kernel, args, min(capabilities))
    except Exception as error:
        return [finding(min(capabilities), NOTHING, 0, _format_refusal(error), watch.lap())]
    found = []
    for capability in capabilities:
        try:
            found.append(finding(capability, ptx.assemble(text, capability), ptx.doubles(text), None, watch.lap()))
        except RuntimeError as error:
            found.append(finding(capability, NOTHING, 0, _format_refusal(error), watch.lap()))
    return found


def _format_refusal(error: Exception) -> str:
    """Return the first line of an error as a refusal."""
    lines = str(error).strip().splitlines() or [""]
    return f"refused: {type(error).__name__}: {lines[0]}"


def collect(modules: list[str]) -> dict[str, Program]:
    """Return the programs registered by the given modules, or by mechanics and all installed plugins."""
    if not modules:
        plugins = {point.value.partition(":")[0].partition(".")[0] for point in entry_points(group="diffloom")}
        modules = [m for package in sorted({"diffloom_mechanics", *plugins}) for m in _program_modules(package)]
    for module in map(importlib.import_module, modules):
        for program in getattr(module, "programs", list)():
            REGISTERED.setdefault(program.name, program)
    return dict(REGISTERED)


def _program_modules(package: str) -> list[str]:
    """Return the modules of a package that register programs."""
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return []
    names = [module.name for module in pkgutil.iter_modules(found.submodule_search_locations if found else [])]
    if "programs" in names:
        return [f"{package}.programs"]
    return [f"{package}.{name}" for name in names if name == "kernels" or name.endswith("_kernels")]


def _check_with_each(compilers: tuple[str, ...], arguments: list[str]) -> int:
    """Run the check with several compilers, each in a process of its own, because a process uses one compiler."""
    codes = []
    with tempfile.TemporaryDirectory() as folder:
        for compiler in compilers:
            command = [sys.executable, "-m", "diffloom_kernels.backends.cuda_check", *arguments]
            command += ["--table", str(Path(folder) / compiler)]
            environment = {**os.environ, "DIFFLOOM_CUDA_COMPILER": compiler}
            codes.append(subprocess.run(command, env=environment, check=False).returncode)
        for path in sorted(Path(folder).iterdir()):
            print(path.read_text())
    return max(codes)


def _make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m diffloom_kernels.backends.cuda_check", description=__doc__.split("\n")[0]
    )
    made.add_argument("modules", nargs="*", help="modules whose programs to check; all of diffloom's by default")
    made.add_argument("--program", action="append", help="check this program alone; may be given again")
    made.add_argument(
        "--dtype", action="append", choices=tuple(DTYPES), help="check this float type alone; may be given again"
    )
    made.add_argument("--anew", action="store_true", help="compile everything, and ignore stored findings")
    made.add_argument("--table", metavar="FILE", help="also write the table of counts to this file")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Print one line per kernel; return 1 if one is refused, or in float32 spills or computes in float64."""
    parser = _make_parser()
    options = parser.parse_args(arguments)
    if missing := ptx.why_unavailable():
        print(f"cannot check: {missing}", file=sys.stderr)
        return 2
    if "DIFFLOOM_CUDA_COMPILER" not in os.environ and len(list_installed()) > 1:
        return _check_with_each(list_installed(), sys.argv[1:] if arguments is None else arguments)
    head = f"kernels by {choose_compiler()} {version(str(choose_compiler()))}"
    print(head)
    programs = collect(options.modules)
    if unknown := sorted(set(options.program or ()) - programs.keys()):
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(sorted(programs))}")
    programs = {name: program for name, program in programs.items() if name in (options.program or programs)}
    dtypes = tuple(DTYPES[name] for name in options.dtype or DTYPES)
    findings = []
    for finding in check((each for each in programs.values() if each.samples), dtypes, keep=not options.anew):
        print(finding, flush=True)
        findings.append(finding)
    for program in programs.values():
        if not program.samples:
            print(f"{program.name}: has no samples, not checked")
    faults = sum(finding.fault is not None for finding in findings)
    excused = sum(finding.excused is not None for finding in findings)
    whole = f"{len(findings)} compilations, {faults} faults, {excused} known spills"
    counts = "\n".join(["", head, *format_table(findings), whole])
    print(counts)
    if options.table:
        Path(options.table).write_text(counts)
    return 1 if faults or not findings else 0


if __name__ == "__main__":
    sys.exit(main())
