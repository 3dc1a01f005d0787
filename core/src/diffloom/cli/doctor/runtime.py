"""Python, PyTorch and the processors that they may use."""

import os
import platform
import sys

from diffloom.cli.doctor.finding import Finding, Health, Section, cause, guarded

_VARIABLES = ("DIFFLOOM_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")


def runtime() -> Section:
    """Return the findings on everything that any computation needs."""
    return Section("Runtime", (_python(), _torch(), guarded("threads", _threads)))


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


def _threads() -> Finding:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [f"{usable} of {os.cpu_count()} processors usable"]
    if "torch" in sys.modules:
        parts.append(f"PyTorch {sys.modules['torch'].get_num_threads()}")
    parts += [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ]
    return Finding("threads", Health.OK, ", ".join(parts))
