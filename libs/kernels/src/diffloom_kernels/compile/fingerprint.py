"""Content hashes of device functions and of all that they call.

Compiled code is stored under a name with this hash, because numba's cache looks only at the file of the outermost
function and goes stale when a callee changes. Bytecode is hashed and not text, so comments do not matter.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

import numba
import numpy as np

from ..backends.cuda_compilers import choose_compiler
from ..backends.numba_mode import compiler as cpu_compiler
from ..language import DEVICE_OPTIONS

_PACKAGE = "diffloom_kernels"
#: Libraries whose version stands for their content.
_VERSIONED = ("numba", "numpy", "llvmlite", "numba-cuda", "numba-cuda-mlir")
#: Modules of this package that affect compiled code only through the generated text, which is hashed itself.
_HOST_ONLY = (
    "__init__", "arena", "arguments", "cache", "cuda", "cuda_check", "cuda_findings", "doctor", "expressions",
    "fingerprint", "memory_bound", "notices", "plugin", "program", "prune", "ptx", "read", "specialise",
    "static_values", "thread_team", "threads", "write",
    "adjoints", "calls", "lines", "loads", "operations", "rules", "source", "trace", "values",
)  # fmt: skip
#: Modules that affect the code of certain CUDA compilers only.
_SHAPES_CUDA = {
    "cuda_compilers": ("numba-cuda", "numba-cuda-mlir"),
    "mlir_functions": ("numba-cuda-mlir",),
    "mlir_modules": ("numba-cuda-mlir",),
    "mlir_patches": ("numba-cuda-mlir",),
}


@functools.cache
def environment(target: str) -> str:
    """Return the hash of everything that code for "cpu" or "cuda" depends on besides its source: this package, the
    compilers and Python.
    """
    digest = hashlib.sha256()
    compiler = choose_compiler() if target == "cuda" else None
    without = {*_HOST_ONLY, *(stem for stem, compilers in _SHAPES_CUDA.items() if compiler not in compilers)}
    if compiler:
        digest.update(compiler.encode())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        if path.stem not in without:
            digest.update(path.read_bytes())
    # abiflags: compiled code reads Python objects, whose memory layout differs in free-threaded builds.
    python = (*sys.version_info[:3], getattr(sys, "abiflags", ""))
    digest.update(repr((python, cpu_compiler.NAME, sorted(DEVICE_OPTIONS.items(), key=str))).encode())
    for name in _VERSIONED:
        try:
            digest.update(f"{name}={version(name)}".encode())
        except PackageNotFoundError:
            digest.update(f"{name}=none".encode())
    return digest.hexdigest()


def fingerprint(names: dict[str, object]) -> str:
    """Return the hash of the objects that a piece of source refers to by ``names``, and of all that they refer to."""
    walk = _Walk()
    for name in sorted(names):
        walk.add(name)
        walk.visit(names[name], name)
    return walk.digest.hexdigest()


class _Walk:
    """Traversal of a graph of objects; every object enters the digest once."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.seen: dict[int, object] = {}

    def add(self, text: object) -> None:
        """Add the representation of a value to the digest."""
        self.digest.update(repr(text).encode() + b"\0")

    def visit(self, value: object, name: str) -> None:
        """Add an object, and the objects it refers to, to the digest."""
        if id(value) in self.seen:
            self.add(("again", name))
            return
        function = getattr(value, "py_func", value)
        if isinstance(function, FunctionType):
            self.seen[id(value)] = value
            self._visit_function(function, compiled=function is not value)
        elif isinstance(value, ModuleType):
            self.add(("module", value.__name__, getattr(value, "__version__", None)))
        elif isinstance(value, type) and hasattr(value, "_fields"):
            self.add(("record", str(value), value._fields))
        elif isinstance(value, type | np.dtype | numba.types.Type | BuiltinFunctionType | np.ufunc):
            self.add(("named", str(value)))
        elif isinstance(value, np.ndarray):
            self.add(("array", value.dtype.str, value.shape, value.tobytes()))
        elif isinstance(value, tuple):
            self.add(("tuple", len(value)))
            for entry in value:
                self.visit(entry, name)
        elif isinstance(value, int | float | complex | str | bytes | np.generic | None | type(Ellipsis)):
            self.add((type(value).__name__, repr(value)))
        else:
            self.add(("opaque", type(value).__module__, type(value).__qualname__))

    def _visit_function(self, function: FunctionType, compiled: bool) -> None:
        """Add a function: its code, defaults, closure and the globals that it names."""
        module = function.__module__ or ""
        self.add((module, function.__qualname__))
        if module.partition(".")[0] in sys.stdlib_module_names or module.split(".")[0] in ("numba", "numpy"):
            return
        if module == _PACKAGE or module.startswith(_PACKAGE + "."):
            return  # environment() covers this package
        if not compiled:
            # A plain function is compiled through an overload, which may be anywhere in its module.
            source = inspect.getsourcefile(function)
            self.add(Path(source).read_bytes() if source and Path(source).is_file() else function.__code__.co_code)
        self._visit_code(function.__code__)
        self.visit(function.__defaults__ or (), "defaults")
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.add(name)
            self.visit(cell.cell_contents, name)
        for name, value in list_referenced(function.__code__, function.__globals__).items():
            self.add(name)
            self.visit(value, name)

    def _visit_code(self, code: CodeType) -> None:
        """Add a code object with its constants."""
        self.add((code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._visit_code(constant)
            elif isinstance(constant, frozenset):
                self.add(sorted(map(repr, constant)))
            else:
                self.add(constant)


def list_referenced(code: CodeType, namespace: dict[str, object]) -> dict[str, object]:
    """Return the globals that ``code`` names, and device functions that it may reach as attributes of modules."""
    names = set(_all_names(code))
    found = {name: namespace[name] for name in sorted(names) if name in namespace}
    for module in [value for value in found.values() if isinstance(value, ModuleType)]:
        for name in sorted(names):
            value = getattr(module, name, None)
            if isinstance(getattr(value, "py_func", None), FunctionType):
                found[f"{module.__name__}.{name}"] = value
    return found


def _all_names(code: CodeType) -> list[str]:
    """Return the names used in a code object and in the code objects inside it."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _all_names(constant)]
    return list(code.co_names) + inner
