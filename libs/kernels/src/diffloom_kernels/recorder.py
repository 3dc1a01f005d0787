"""What a program is given when something tiny is drawn, noted instead of run: types for the CUDA check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from diffloom_kernels.compile.program import Program

Noted = dict[str, tuple[Any, ...]]


@contextmanager
def recording(program: Program, answer: Callable[[str, tuple[Any, ...]], None] | None = None) -> Iterator[Noted]:
    """Note the arguments of every pipeline that would be run; ``answer`` may fill in what the caller goes on with."""
    noted: Noted = {}

    def run(pipeline: str, *args: Any, **_: Any) -> None:
        noted[pipeline] = args
        if answer is not None:
            answer(pipeline, args)

    program.run = run  # type: ignore[method-assign]
    try:
        yield noted
    finally:
        del program.run
