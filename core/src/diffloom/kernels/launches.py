"""What a schedule may say: launch a body over elements. Called as plain Python these simply loop, for debugging."""

from __future__ import annotations


def launch(n, body, *args):
    """Call ``body(i, *args)`` for i = 0 ... n-1, in any order and possibly at once."""
    for i in range(n):
        body(i, *args)


def launch_lanes(n, body, *args):
    """As launch, but on the CPU ``body`` gets runs of consecutive elements and computes them as SIMD lanes."""
    for i in range(n):
        body(i, *args)


def launch_runs(n, body, *args):
    """As launch_lanes where n holds whole runs only (a multiple of 8): no scalar body is compiled for a rest."""
    for i in range(n):
        body(i, *args)


class _Together:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_exc: object) -> None:
        return None


#: ``with together:`` around launches says that they do not depend on each other: one parallel pass, one CUDA kernel.
together = _Together()

LAUNCHES = (launch, launch_lanes, launch_runs)
