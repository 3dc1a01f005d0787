"""Choice of the compiler of CUDA kernels: numba-cuda-mlir, or its predecessor numba-cuda.

``DIFFLOOM_CUDA_COMPILER`` names one of them; else numba-cuda-mlir is used if it is installed. numba-cuda shares numba's
device functions. numba-cuda-mlir is independent of numba, so device functions are translated: see ``mlir_functions``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numba

from ..language import device

MLIR, NUMBA = "numba-cuda-mlir", "numba-cuda"
_PACKAGES = {MLIR: "numba_cuda_mlir", NUMBA: "numba_cuda"}


def list_installed() -> tuple[str, ...]:
    """Return the installed compilers, the preferred one first."""
    return tuple(name for name, package in _PACKAGES.items() if importlib.util.find_spec(package) is not None)


def choose_compiler() -> str | None:
    """Return the compiler of kernels, or None if there is none."""
    found = list_installed()
    named = os.environ.get("DIFFLOOM_CUDA_COMPILER", "")
    if named and named not in _PACKAGES:
        raise ValueError(f"DIFFLOOM_CUDA_COMPILER is {named!r}; expected {MLIR} or {NUMBA}")
    if named and named not in found:
        raise RuntimeError(f"DIFFLOOM_CUDA_COMPILER asks for {named}, which is not installed: pip install {named}")
    return named or (found[0] if found else None)


def is_mlir() -> bool:
    """Return True if kernels are compiled by numba-cuda-mlir; the simulator belongs to numba-cuda."""
    return not numba.config.ENABLE_CUDASIM and choose_compiler() == MLIR


def cuda_module() -> Any:
    """Return the chosen compiler's module ``cuda``."""
    if is_mlir():
        return importlib.import_module("numba_cuda_mlir.cuda")
    try:
        from numba import cuda
    except ImportError as error:
        raise RuntimeError(
            f"the cuda target needs a compiler for it: pip install 'diffloom-core[cuda]' ({error})"
        ) from error
    if numba.config.ENABLE_CUDASIM and not numba.config.DISABLE_JIT:
        raise RuntimeError("the CUDA simulator (NUMBA_ENABLE_CUDASIM=1) also needs NUMBA_DISABLE_JIT=1")
    if not numba.config.ENABLE_CUDASIM:
        _let_numba_cuda_round()
    return cuda


@functools.cache
def _let_numba_cuda_round() -> None:
    """Make numba-cuda compile exact float32 quotients, exponentials and logarithms.

    numba-cuda takes the fast-math flag of device functions (nsz: no signed zeros) as permission to approximate them.
    """
    from numba.cuda.target import CUDATargetContext

    CUDATargetContext.fastmath = property(lambda context: False, lambda context, flags: None)


def device_decorator() -> Callable[..., Any]:
    """Return the decorator of functions that kernels call."""
    if is_mlir():
        from .mlir_functions import device_function

        return device_function
    return device


def names_for_kernels(names: dict[str, object]) -> dict[str, object]:
    """Return the global names of generated source, translated for the chosen compiler."""
    if is_mlir():
        from .mlir_functions import translate_value

        return {name: translate_value(value) for name, value in names.items()}
    return names
