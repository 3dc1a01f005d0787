"""What the CUDA check found: kept by content, so that one that was stopped goes on where it was, and summed up."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from ..compile.cache import write_file
from . import ptx

#: Bytes that a kernel known to spill may spill in float32: some dozens of registers, which stay in the nearest cache.
A_LITTLE = 128


@dataclass(frozen=True)
class KernelFinding:
    """One kernel, compiled for one float type and architecture.

    known: why it may spill a little. seconds: processor time it took, that of PTX with the first.
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
        """What is wrong with it: all must compile, and float32 kernels neither spill nor compute in float64."""
        if self.refused is not None or self.dtype != "float32":
            return self.refused
        if self.usage.spill_bytes > (A_LITTLE if self.known else 0):
            return f"spills {self.usage.spill_bytes} bytes"
        return f"{self.doubles} float64 instructions" if self.doubles else None

    @property
    def excused(self) -> str | None:
        """Why it may spill, if it does in float32 and that is no fault."""
        spills = self.usage.spill_bytes and self.dtype == "float32" and self.fault is None
        return f"known to spill: {self.known}" if spills else None

    def __str__(self) -> str:
        sm = f"sm_{self.capability[0]}{self.capability[1]}"
        said = f"{self.usage.registers:4d} registers {self.usage.spill_bytes:4d} B spilled"
        return f"{self.program + '.' + self.kernel:50s} {self.dtype} {sm} {said}  {self.fault or self.excused or 'ok'}"


class Stopwatch:
    """Processor time of this process and of those it waited for, since it was last read."""

    def __init__(self) -> None:
        self._read = sum(os.times()[:4])

    def lap(self) -> float:
        """Seconds since the last lap."""
        before, self._read = self._read, sum(os.times()[:4])
        return self._read - before


def read_findings(path: Path, finding: Callable[..., KernelFinding]) -> list[KernelFinding]:
    """What an earlier check found of a kernel; nothing where there was none or its file is damaged."""
    try:
        rows = json.loads(path.read_text())
        return [finding(tuple(sm), ptx.Usage(*usage), doubles, None, seconds) for sm, usage, doubles, seconds in rows]
    except (OSError, ValueError, TypeError):
        return []


def keep_findings(path: Path, found: list[KernelFinding]) -> None:
    """Write what was found of a kernel for ``read_findings``."""
    rows = [(each.capability, astuple(each.usage), each.doubles, each.seconds) for each in found]
    write_file(path, json.dumps(rows).encode())


def table(findings: Iterable[KernelFinding]) -> list[str]:
    """Lines of a table: a row for each program and float type, and one for each float type in all."""
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
    counts: list[Any] = [len(found)]
    counts += [sum(finding.refused is not None for finding in found)]
    counts += [sum(finding.usage.spill_bytes > 0 for finding in found)]
    # in float64 kernels these are no fault, so are not counted
    counts += [sum(finding.doubles > 0 for finding in found) if dtype == "float32" else "-"]
    counts += [f"{sum(finding.seconds for finding in found):.0f}"]
    widths = (8, 7, 5, 7, 7)
    shown = name if len(name) <= 48 else f"{name[:45]}..."
    return f"{shown:48s} {dtype:8s} " + " ".join(f"{n!s:>{w}}" for n, w in zip(counts, widths, strict=True))
