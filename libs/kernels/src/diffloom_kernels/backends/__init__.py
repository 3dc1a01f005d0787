"""Targets of compiled code: numba on the CPU, thread teams, and two compilers for CUDA."""
