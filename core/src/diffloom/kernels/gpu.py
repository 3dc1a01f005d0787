"""The CUDA target: a host loop of kernel launches on torch's current stream. numba-cuda is imported only here."""

from __future__ import annotations

import itertools
import sys

import numba
import numpy as np

from . import arguments
from .cpu import load_module
from .device import device

#: Threads in a block. Kernels are bound by registers and memory, not by block size.
BLOCK = 128


def run(program, schedule: str, args: tuple):
    """Run a schedule of a program on arrays in GPU memory (or, in the simulator, on host arrays)."""
    cuda = _cuda()
    simulated = bool(numba.config.ENABLE_CUDASIM)
    names = program.parameters(schedule, len(args))
    if not simulated:
        for name, value in zip(names, args, strict=True):
            _check_on_gpu(program.name, name, value)
    given = tuple(_as_device(cuda, arg, simulated) for arg in args)
    key = ("cuda", schedule, tuple(map(arguments.device_key, given)))
    entry = program.entries.get(key)
    if entry is None:
        real = arguments.real_type(program.name, names, given)
        entry = program.entries[key] = (host_schedule(program, schedule, key, kernel_launcher(cuda)), real)
    function, real = entry
    return function(_stream(cuda, simulated), *[arguments.with_real_scalars(arg, real) for arg in given])


def host_schedule(program, schedule: str, key: object, start):
    """The schedule as a Python function whose launches call ``start(kernel, stream, counts, args)``."""
    cuda = _cuda()
    text, names, stem = program.generated(schedule, "cuda", key)
    options = {} if numba.config.ENABLE_CUDASIM else {"cache": True}
    tools = {"device": device, "_dl_kernel": cuda.jit(**options), "_dl_cuda": cuda, "_dl_start": start}
    return getattr(load_module(stem, text, {**tools, **names}), schedule)


def kernel_launcher(cuda):
    """What ``start`` does in a real run."""

    def start(kernel, stream, counts, args):
        ends = tuple(itertools.accumulate(counts))
        if ends[-1] > 0:
            kernel[(ends[-1] + BLOCK - 1) // BLOCK, BLOCK, stream](*ends, *args)

    return start


def _cuda():
    try:
        from numba import cuda
    except ImportError as error:
        raise RuntimeError(f"the cuda target needs numba-cuda: pip install 'diffloom-core[cuda]' ({error})") from error
    if numba.config.ENABLE_CUDASIM and not numba.config.DISABLE_JIT:
        raise RuntimeError("the CUDA simulator (NUMBA_ENABLE_CUDASIM=1) also needs NUMBA_DISABLE_JIT=1")
    return cuda


def _check_on_gpu(program: str, name: str, value) -> None:
    if isinstance(value, tuple):
        for k, entry in enumerate(value):
            _check_on_gpu(program, f"{name}[{k}]", entry)
    elif hasattr(value, "dtype") and np.ndim(value) > 0 and not arguments.is_cuda(value):
        raise TypeError(f"{program}: {name} is in host memory but the run is on CUDA; move it with .to('cuda')")


def _as_device(cuda, value, simulated: bool):
    if isinstance(value, tuple):
        return tuple(_as_device(cuda, entry, simulated) for entry in value)
    if simulated:
        (host,) = arguments.as_host((value,))
        if isinstance(host, np.ndarray):
            from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

            return FakeCUDAArray(host)
        return host
    if arguments.is_cuda(value):
        # No synchronisation: kernels go to the stream that torch itself uses.
        return cuda.as_cuda_array(value.detach() if hasattr(value, "detach") else value, sync=False)
    return value


def _stream(cuda, simulated: bool):
    torch = sys.modules.get("torch")
    if simulated or torch is None or not torch.cuda.is_available():
        return 0
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream)
