"""Python, PyTorch, numba, and how many threads each of them will use."""

import os
import platform
import sys

from diffloom.cli.doctor.finding import Finding, Health, Section, cause, guarded

_VARIABLES = (
    "DIFFLOOM_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
)


def runtime() -> Section:
    """Everything that any computation needs."""
    probes = {"threads": _threads, "compiled code": _compiled_code}
    libraries = (_python(), _torch(), _numba())
    return Section("Runtime", (*libraries, *(guarded(subject, probe) for subject, probe in probes.items())))


def _python() -> Finding:
    detail = f"{platform.python_version()} on {platform.platform(terse=True)} {platform.machine()}, in {sys.prefix}"
    return Finding("Python", Health.OK, detail)


def _torch() -> Finding:
    try:
        import torch

        build = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
        return Finding("PyTorch", Health.OK, f"{torch.__version__}, {build}")
    except Exception as error:
        return Finding("PyTorch", Health.FATAL, cause(error), "pip install torch")


def _numba() -> Finding:
    try:
        import llvmlite
        import numba

        from diffloom.kernels.backends.numba_internals import TRIED_NUMBA, remedy, tried

        detail = f"{numba.__version__} with llvmlite {llvmlite.__version__}, for {_processor()}"
        advice = ""
        if not tried():
            detail += f"; kernels were tried with {', '.join(TRIED_NUMBA)} only"
            advice = f"if compiling fails: {remedy()}"
        return Finding("numba", Health.OK, detail, advice)
    except Exception as error:
        return Finding("numba", Health.FATAL, cause(error), "pip install numba")


def _processor() -> str:
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    widest = next((name for name in ("avx512f", "avx2", "avx", "neon", "sse2") if features.get(name)), "no SIMD found")
    return f"{binding.get_host_cpu_name()} ({widest})"


def _threads() -> Finding:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [f"{usable} of {os.cpu_count()} processors usable"]
    if "torch" in sys.modules:
        parts.append(f"PyTorch {sys.modules['torch'].get_num_threads()}")
    if "numba" in sys.modules:
        from diffloom.kernels.backends.threads import num_threads

        parts.append(f"kernels {num_threads()}")
    parts += [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ]
    return Finding("threads", Health.OK, ", ".join(parts))


def _compiled_code() -> Finding:
    from diffloom.kernels.compile.cache import cache_folder

    try:
        return Finding("compiled code", Health.OK, f"is kept in {cache_folder()} (DIFFLOOM_CACHE_DIR)")
    except ValueError as error:  # others may write there
        return Finding("compiled code", Health.FATAL, str(error), "set DIFFLOOM_CACHE_DIR to a folder of your own")
