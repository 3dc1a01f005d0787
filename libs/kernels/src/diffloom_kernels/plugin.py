"""Registrations of diffloom-kernels, as import paths: nothing heavy is imported before it is used."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register the findings of ``diffloom doctor`` on numba and CUDA."""
    register("numba", "diffloom_kernels.doctor:compilers", summary="numba, threads and compiled code")
    register("cuda", "diffloom_kernels.doctor:cuda", summary="CUDA")
