"""Findings of the CUDA check: stored by content, so that an interrupted check resumes, and summed up in a table."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from ..compile.cache import write_file
from . import ptx

#: Bytes that a kernel with a known reason may spill in float32: some dozens of registers, which stay in the L1 cache.
A_LITTLE = 128


@dataclass(frozen=True)
class KernelFinding:
    """Finding on one kernel, compiled for one float type and architecture.

    ``known`` is the reason why it may spill a little; ``seconds`` its processor time, that of PTX with the first.
    """

    program: str
    kernel: str
    dtype: str
    capability: tuple[int, int]
    usage: ptx.Usage
    doubles: int
    refused: str | None = None
    seconds: float = 0.0
    known: str | None = None

    @property
    def fault(self) -> str | None:
        """Fault of the kernel, or None: all must compile, and float32 kernels must neither spill nor compute in
        float64.
        """
        if self.refused is not None or self.dtype != "float32":
            return self.refused
        if self.usage.spill_bytes > (A_LITTLE if self.known else 0):
            return f"spills {self.usage.spill_bytes} bytes"
        return f"{self.doubles} float64 instructions" if self.doubles else None

    @property
    def excused(self) -> str | None:
        """Reason why a float32 kernel may spill, if it does and that is no fault."""
        spills = self.usage.spill_bytes and self.dtype == "float32" and self.fault is None
        return f"known to spill: {self.known}" if spills else None

    def __str__(self) -> str:
        sm = f"sm_{self.capability[0]}{self.capability[1]}"
        said = f"{self.usage.registers:4d} registers {self.usage.spill_bytes:4d} B spilled"
        return f"{self.program + '.' + self.kernel:50s} {self.dtype} {sm} {said}  {self.fault or self.excused or 'ok'}"


class LapTimer:
    """Processor time of this process and its finished children since the last reading."""

    def __init__(self) -> None:
        self._read = sum(os.times()[:4])

    def lap(self) -> float:
        """Return the seconds since the last lap."""
        before, self._read = self._read, sum(os.times()[:4])
        return self._read - before


def read_findings(path: Path, finding: Callable[..., KernelFinding]) -> list[KernelFinding]:
    """Return the stored findings on a kernel; none if there is no file or it is damaged."""
    try:
        rows = json.loads(path.read_text())
        return [finding(tuple(sm), ptx.Usage(*usage), doubles, None, seconds) for sm, usage, doubles, seconds in rows]
    except (OSError, ValueError, TypeError):
        return []


def write_findings(path: Path, found: list[KernelFinding]) -> None:
    """Store the findings on a kernel for ``read_findings``."""
    rows = [(each.capability, astuple(each.usage), each.doubles, each.seconds) for each in found]
    write_file(path, json.dumps(rows).encode())


def format_table(findings: Iterable[KernelFinding]) -> list[str]:
    """Return the lines of a table: a row for each program and float type, and a sum for each float type."""
    groups: dict[tuple[str, str], list[KernelFinding]] = {}
    for finding in findings:
        groups.setdefault((finding.dtype, finding.program), []).append(finding)
    lines = [f"{'program':48s} {'type':8s} compiled refused spill float64 seconds"]
    for dtype in sorted({dtype for dtype, _ in groups}):
        own = {program: found for (kind, program), found in groups.items() if kind == dtype}
        lines += [_row(program, dtype, found) for program, found in sorted(own.items())]
        whole = f"{len(own)} programs" if len(own) > 1 else "1 program"
        lines.append(_row(whole, dtype, [finding for found in own.values() for finding in found]))
    return lines


def _row(name: str, dtype: str, found: list[KernelFinding]) -> str:
    """Return one row of the table."""
    counts: list[Any] = [len(found)]
    counts += [sum(finding.refused is not None for finding in found)]
    counts += [sum(finding.usage.spill_bytes > 0 for finding in found)]
    # no fault in float64 kernels, so not counted there
    counts += [sum(finding.doubles > 0 for finding in found) if dtype == "float32" else "-"]
    counts += [f"{sum(finding.seconds for finding in found):.0f}"]
    widths = (8, 7, 5, 7, 7)
    shown = name if len(name) <= 48 else f"{name[:45]}..."
    return f"{shown:48s} {dtype:8s} " + " ".join(f"{n!s:>{w}}" for n, w in zip(counts, widths, strict=True))
