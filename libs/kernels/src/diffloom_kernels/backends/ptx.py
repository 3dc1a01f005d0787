"""Compilation of CUDA kernels on a machine without a GPU: to PTX, and by ptxas to machine code."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba

from ..language import BOUNDS
from .cuda_compilers import choose_compiler, cuda_module, is_mlir


@dataclass(frozen=True)
class Usage:
    """Resources of one kernel on one architecture, as ptxas reports them."""

    registers: int
    spill_bytes: int
    stack_bytes: int


def find_ptxas() -> Path | None:
    """Return ptxas of the nvidia-cuda-nvcc wheel, which matches the compilers beside it, else the one on PATH."""
    package = importlib.util.find_spec("nvidia")
    for folder in package.submodule_search_locations or [] if package else []:
        for candidate in sorted(Path(folder).glob("**/bin/ptxas*")):
            return candidate
    found = shutil.which("ptxas")
    return Path(found) if found else None


def why_unavailable() -> str | None:
    """Return the missing requirement of compiling to PTX and machine code, or None."""
    if BOUNDS:
        return "CUDA's compilers cannot check bounds; unset DIFFLOOM_BOUNDS"
    if choose_compiler() is None:
        return "neither numba-cuda-mlir nor numba-cuda is installed"
    if find_ptxas() is None:
        return "ptxas was found neither in the nvidia-cuda-nvcc wheel nor on PATH"
    package = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in package.submodule_search_locations or []] if package else []
    for library in ("libnvvm", "libnvrtc"):
        if not any(True for folder in folders for _ in folder.glob(f"**/{library}*.so*")):
            return f"{library} was not found; install nvidia-nvvm and nvidia-cuda-nvrtc"
    return None


@contextlib.contextmanager
def pretend_device(capability: tuple[int, int]) -> Iterator[None]:
    """Context manager: make the compiler see a GPU of this capability, because it asks when a kernel calls a device
    function.
    """
    holder: Any
    answer: Callable[..., Any]
    if is_mlir():
        holder = importlib.import_module("numba_cuda_mlir.tools")
        name, answer = "get_gpu_compute_capability", lambda *_: capability
    else:
        holder = importlib.import_module("numba.cuda.dispatcher")
        name, answer = "get_current_device", lambda: SimpleNamespace(compute_capability=capability)
    original = getattr(holder, name)
    setattr(holder, name, answer)
    try:
        yield
    finally:
        setattr(holder, name, original)


def to_ptx(kernel: Any, args: tuple[Any, ...], capability: tuple[int, int]) -> str:
    """Return the PTX of a kernel for arguments of these types."""
    cuda = cuda_module()
    with pretend_device(capability):
        if is_mlir():
            typeof = importlib.import_module("numba_cuda_mlir.numba_cuda.typing.typeof").typeof
            text, _ = cuda.compile_ptx(kernel.py_func, tuple(map(typeof, args)), cc=capability)
        else:
            kinds = tuple(map(numba.typeof, args))
            text, _ = cuda.compile(
                kernel.py_func, kinds, device=False, abi="numba", cc=capability, output="ptx", opt=True
            )
    return str(text)


def assemble(ptx: str, capability: tuple[int, int]) -> Usage:
    """Assemble PTX by ptxas, and return the resources that it reports."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx)
        command = [find_ptxas(), "-v", f"--gpu-name=sm_{capability[0]}{capability[1]}", source, "-o", f"{source}.cubin"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ptxas refused a kernel: {done.stderr.strip()}")
    return read_report(done.stderr)


def doubles(ptx: str) -> int:
    """Return the number of float64 instructions in the kernels of a piece of PTX and in the functions they call.

    Functions that were inlined may remain in the text without a caller; they do not count.
    """
    ptx = re.sub(r"//.*", "", ptx)
    heads = list(re.finditer(r"^(?:\.\w+ )*\.(entry|func)\b\s*(?:\([^)]*\)\s*)?([\w$]+)", ptx, re.MULTILINE))
    bodies: dict[str, str] = {}
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(ptx)], strict=True):
        bodies[head[2]] = bodies.get(head[2], "") + ptx[head.end() : end]
    reached: set[str] = set()
    waiting = {head[2] for head in heads if head[1] == "entry"}
    while waiting:
        reached |= waiting
        waiting = {word for name in waiting for word in re.findall(r"[\w$]+", bodies[name])} & bodies.keys() - reached
    return sum(len(re.findall(r"^.*\.f64\b", bodies[name], re.MULTILINE)) for name in reached)


def read_report(report: str) -> Usage:
    """Return registers, spills and stack from the output of ``ptxas -v``."""
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", report)]
    stack = [int(n) for n in re.findall(r"(\d+) bytes stack frame", report)]
    spills = [int(a) + int(b) for a, b in re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)]
    if not registers or not spills:
        raise RuntimeError(f"ptxas reported no register use: {report.strip()}")
    return Usage(max(registers), max(spills), max(stack, default=0))
