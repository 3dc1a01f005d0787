"""CUDA: the driver, the devices, and what is needed to compile kernels for them."""

import ctypes
import sys
from importlib.metadata import PackageNotFoundError, version

from diffloom.cli.doctor.finding import Finding, Health, Section, guarded

_COMPILERS = {"nvidia-cuda-nvrtc": "NVRTC", "nvidia-nvvm": "NVVM", "nvidia-cuda-nvcc": "ptxas"}


def cuda() -> Section:
    """Whether kernels can run on a GPU here, and whether they can at least be compiled for one."""
    probes = {
        "driver": _driver,
        "PyTorch on CUDA": _torch_devices,
        "kernels on CUDA": _kernel_compilers,
        "compilers": _compilers,
    }
    return Section("CUDA", tuple(guarded(subject, probe) for subject, probe in probes.items()))


_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def _load_driver() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(_DRIVER)
    except OSError:
        return None


def _driver() -> Finding:
    driver = _load_driver()
    if driver is None:
        return Finding("driver", Health.ABSENT, f"no NVIDIA driver ({_DRIVER} not found): everything runs on the CPU")
    number = ctypes.c_int()
    status = driver.cuDriverGetVersion(ctypes.byref(number))
    if status != 0:
        return Finding(
            "driver", Health.BROKEN, f"cuDriverGetVersion failed with status {status}", "reinstall the driver"
        )
    return Finding("driver", Health.OK, f"supports CUDA {number.value // 1000}.{number.value % 1000 // 10}")


def _torch_devices() -> Finding:
    import torch

    if torch.version.cuda is None:
        return Finding("PyTorch on CUDA", Health.ABSENT, "this PyTorch is a CPU build")
    if not torch.cuda.is_available():
        return Finding(
            "PyTorch on CUDA", Health.ABSENT, f"built for CUDA {torch.version.cuda}, but finds no usable GPU"
        )
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return Finding("PyTorch on CUDA", Health.OK, ", ".join(names))


def _kernel_compilers() -> Finding:
    subject = "kernels on CUDA"
    releases = [f"{name} {release}" for name in ("numba-cuda-mlir", "numba-cuda") if (release := _release(name))]
    if not releases:
        return Finding(subject, Health.ABSENT, "numba-cuda is not installed", 'pip install "diffloom-core[cuda]"')
    if _load_driver() is not None:  # without one there is no need to wait for a compiler, which takes long to import
        from diffloom.kernels.backends.cuda_compilers import chosen, cuda_module

        if cuda_module().is_available():
            return Finding(subject, Health.OK, f"by {chosen()}; installed: {', '.join(releases)}")
    return Finding(subject, Health.ABSENT, f"{releases[0]} finds no GPU; kernels run on the CPU")


def _release(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _compilers() -> Finding:
    found, lacking = [], []
    for distribution, tool in _COMPILERS.items():
        try:
            found.append(f"{tool} {version(distribution)}")
        except PackageNotFoundError:
            lacking.append(distribution)
    if lacking:
        detail = f"{', '.join(lacking)} not installed: kernels cannot be compiled for CUDA without a GPU"
        return Finding("compilers", Health.ABSENT, detail, 'pip install "diffloom[cuda-check]"')
    return Finding("compilers", Health.OK, ", ".join(found))
