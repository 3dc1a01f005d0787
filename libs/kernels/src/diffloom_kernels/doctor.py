"""Findings of ``diffloom doctor`` on numba, compiled code and CUDA."""

import ctypes
import sys
from importlib.metadata import PackageNotFoundError, version

from diffloom.cli.doctor import DoctorFinding, Health, Section, format_error, run_probe

_COMPILERS = {"nvidia-cuda-nvrtc": "NVRTC", "nvidia-nvvm": "NVVM", "nvidia-cuda-nvcc": "ptxas"}


def cuda() -> Section:
    """Return the findings on CUDA: whether kernels run on a GPU here, or can at least be compiled for one."""
    probes = {
        "driver": _driver,
        "PyTorch on CUDA": _torch_devices,
        "kernels on CUDA": _kernel_compilers,
        "compilers": _compilers,
    }
    return Section("CUDA", tuple(run_probe(subject, probe) for subject, probe in probes.items()))


_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def _load_driver() -> ctypes.CDLL | None:
    """Return NVIDIA's driver library, or None."""
    try:
        return ctypes.CDLL(_DRIVER)
    except OSError:
        return None


def _driver() -> DoctorFinding:
    """Return the finding on the NVIDIA driver."""
    driver = _load_driver()
    if driver is None:
        return DoctorFinding(
            "driver", Health.ABSENT, f"no NVIDIA driver ({_DRIVER} not found): everything runs on the CPU"
        )
    number = ctypes.c_int()
    status = driver.cuDriverGetVersion(ctypes.byref(number))
    if status != 0:
        return DoctorFinding(
            "driver", Health.BROKEN, f"cuDriverGetVersion failed with status {status}", "reinstall the driver"
        )
    return DoctorFinding("driver", Health.OK, f"supports CUDA {number.value // 1000}.{number.value % 1000 // 10}")


def _torch_devices() -> DoctorFinding:
    """Return the finding on PyTorch's GPUs."""
    import torch

    if torch.version.cuda is None:
        return DoctorFinding("PyTorch on CUDA", Health.ABSENT, "this PyTorch is a CPU build")
    if not torch.cuda.is_available():
        return DoctorFinding(
            "PyTorch on CUDA", Health.ABSENT, f"built for CUDA {torch.version.cuda}, but finds no usable GPU"
        )
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return DoctorFinding("PyTorch on CUDA", Health.OK, ", ".join(names))


def _kernel_compilers() -> DoctorFinding:
    """Return the finding on the compilers of kernels for CUDA."""
    subject = "kernels on CUDA"
    releases = [f"{name} {release}" for name in ("numba-cuda-mlir", "numba-cuda") if (release := _release(name))]
    if not releases:
        return DoctorFinding(
            subject, Health.ABSENT, "numba-cuda is not installed", 'pip install "diffloom-kernels[cuda]"'
        )
    if _load_driver() is not None:  # without a driver the slow import of a compiler is pointless
        from diffloom_kernels.backends.cuda_compilers import choose_compiler, cuda_module

        if cuda_module().is_available():
            return DoctorFinding(subject, Health.OK, f"by {choose_compiler()}; installed: {', '.join(releases)}")
    return DoctorFinding(subject, Health.ABSENT, f"{releases[0]} finds no GPU; kernels run on the CPU")


def _release(name: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _compilers() -> DoctorFinding:
    """Return the finding on NVIDIA's compilers."""
    found, lacking = [], []
    for distribution, tool in _COMPILERS.items():
        try:
            found.append(f"{tool} {version(distribution)}")
        except PackageNotFoundError:
            lacking.append(distribution)
    if lacking:
        detail = f"{', '.join(lacking)} not installed: kernels cannot be compiled for CUDA without a GPU"
        return DoctorFinding("compilers", Health.ABSENT, detail, 'pip install "diffloom[cuda-check]"')
    return DoctorFinding("compilers", Health.OK, ", ".join(found))


def compilers() -> Section:
    """Return the findings on numba, the threads of kernels and the folder of compiled code."""
    probes = {"kernel threads": _threads, "compiled code": _compiled_code}
    return Section("Runtime", (_numba(), *(run_probe(subject, probe) for subject, probe in probes.items())))


def _numba() -> DoctorFinding:
    """Return the finding on numba and its mode."""
    try:
        import llvmlite
        import numba

        from diffloom_kernels.backends.numba_mode import REMEDY, is_plain, reason

        detail = f"{numba.__version__} with llvmlite {llvmlite.__version__}, for {_processor()}"
        if is_plain():
            detail += f"; in its plain mode, which compiles slower: {reason or 'DIFFLOOM_PLAIN_NUMBA is set'}"
        return DoctorFinding("numba", Health.OK, detail, f"for the faster one: {REMEDY}" if reason else "")
    except Exception as error:
        return DoctorFinding("numba", Health.FATAL, format_error(error), "pip install numba")


def _processor() -> str:
    """Return the processor's name with its widest SIMD extension."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    widest = next((name for name in ("avx512f", "avx2", "avx", "neon", "sse2") if features.get(name)), "no SIMD found")
    return f"{binding.get_host_cpu_name()} ({widest})"


def _threads() -> DoctorFinding:
    """Return the finding on the threads of kernels."""
    from diffloom_kernels.backends.threads import num_threads

    return DoctorFinding("kernel threads", Health.OK, str(num_threads()))


def _compiled_code() -> DoctorFinding:
    """Return the finding on the folder of compiled code."""
    from diffloom_kernels.compile.cache import cache_folder

    try:
        return DoctorFinding("compiled code", Health.OK, f"is kept in {cache_folder()} (DIFFLOOM_CACHE_DIR)")
    except ValueError as error:  # the folder is writable by another user
        return DoctorFinding(
            "compiled code", Health.FATAL, str(error), "set DIFFLOOM_CACHE_DIR to a folder of your own"
        )
