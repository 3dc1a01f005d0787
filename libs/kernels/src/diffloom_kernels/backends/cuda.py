"""CUDA target: a host loop of kernel launches on PyTorch's current stream."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from ..compile import arguments
from ..language import Const, device
from .cpu import load_module
from .cuda_compilers import cuda_module, device_decorator, is_mlir, names_for_kernels

if TYPE_CHECKING:
    from ..compile.program import Program

#: Threads per block; kernels are bound by registers and memory, not by block size.
BLOCK = 128


def run(program: Program, pipeline: str, args: tuple[Any, ...]) -> Any:
    """Run a pipeline of a program on arrays in GPU memory, or on host arrays in the simulator."""
    cuda = cuda_module()
    simulated = bool(numba.config.ENABLE_CUDASIM)
    names = program.parameters(pipeline, len(args))
    loose = tuple(arg.record if type(arg) is arguments.BoundRecord else arg for arg in args)
    if not simulated:
        for name, value in zip(names, loose, strict=True):
            _check_on_gpu(program.name, name, value)
    given = tuple(_as_device(cuda, arg, simulated) for arg in loose)
    key = ("cuda", pipeline, tuple(map(arguments.device_key, given)))
    entry = program.entries.get(key)
    if entry is None:
        real = arguments.real_type(program.name, names, given)
        entry = program.entries[key] = (host_pipeline(program, pipeline, given, kernel_launcher(cuda)), real)
    function, real = entry
    return function(
        _stream(cuda, simulated), *[arguments.with_real_scalars(without_functions(arg), real) for arg in given]
    )


def host_pipeline(program: Program, pipeline: str, given: tuple[Any, ...], start: Callable[..., None]) -> Any:
    """Return the pipeline as a Python function whose launches call ``start(kernel, stream, counts, args)``."""
    cuda = cuda_module()
    text, names, stem = program.generated(pipeline, "cuda", given, tuple(map(arguments.device_key, given)))
    options = {} if numba.config.ENABLE_CUDASIM else {"cache": True}
    tools = {"device": device_decorator(), "_dl_kernel": cuda.jit(**options), "_dl_cuda": cuda, "_dl_start": start}
    module = load_module(stem, text, {**tools, **names_for_kernels(names)})
    if is_mlir():
        # Pipelines cannot call its device functions on the host, for counts say: they call numba's instead.
        tools |= {"device": device, "_dl_kernel": lambda function: getattr(module, function.__name__)}
        module = load_module(f"{stem}_host", text, {**tools, **names})
    return getattr(module, pipeline)


def without_functions(value: Any) -> Any:
    """Return a value with None in place of compile-time values."""
    if isinstance(value, tuple):
        return arguments.rebuild(value, [without_functions(entry) for entry in value])
    if isinstance(value, str) or (callable(value) and not hasattr(value, "shape")):
        return None
    return int(value) if isinstance(value, Const) else value


def kernel_launcher(cuda: Any) -> Callable[..., None]:
    """Return the function that launches kernels in a real run."""

    def start(kernel: Any, stream: Any, counts: tuple[int, ...], args: tuple[Any, ...]) -> None:
        ends = tuple(itertools.accumulate(counts))
        if ends[-1] > 0:
            kernel[(ends[-1] + BLOCK - 1) // BLOCK, BLOCK, stream](*ends, *args)

    return start


def _check_on_gpu(program: str, name: str, value: Any) -> None:
    """Raise TypeError for an array in host memory."""
    if isinstance(value, tuple):
        for k, entry in enumerate(value):
            _check_on_gpu(program, f"{name}[{k}]", entry)
    elif hasattr(value, "dtype") and np.ndim(value) > 0 and not arguments.is_cuda(value):
        raise TypeError(f"{program}: {name} is in host memory, but the run is on CUDA; move it with .to('cuda')")


def _as_device(cuda: Any, value: Any, simulated: bool) -> Any:
    """Return a value with CUDA arrays in place of tensors."""
    if isinstance(value, tuple):
        return arguments.rebuild(value, [_as_device(cuda, entry, simulated) for entry in value])
    if simulated:
        host = arguments.convert_tensors(value)
        if isinstance(host, np.ndarray):
            from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

            return FakeCUDAArray(host)
        return host
    if arguments.is_cuda(value):
        # No synchronisation, because kernels are queued on the stream that PyTorch uses.
        return cuda.as_cuda_array(value.detach() if hasattr(value, "detach") else value, sync=False)
    return value


def _stream(cuda: Any, simulated: bool) -> Any:
    """Return PyTorch's current stream, or 0."""
    torch = sys.modules.get("torch")
    if simulated or torch is None or not torch.cuda.is_available():
        return 0
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream)
