"""The programs of DIB-R: the same pipelines by our rules and by Kaolin's."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import Program

from .pipeline_kernels import PIPELINES


def samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments of the pipelines for a tiny scene, by which compilers learn their types."""
    from .samples import recorded_arguments

    return recorded_arguments(dtype)


def kaolin_samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """The same by Kaolin's rules."""
    from .samples import recorded_arguments

    return recorded_arguments(dtype, "kaolin")


program = Program("dibr", PIPELINES, samples)
kaolin_program = Program("dibr_kaolin", PIPELINES, kaolin_samples)

#: By whether Kaolin is followed.
PROGRAMS = {False: program, True: kaolin_program}
