"""Programs: schedules that run on any target."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from types import FunctionType

import numba
from numba.core.registry import cpu_target

from . import arguments, cpu, threads
from .fingerprint import environment, fingerprint
from .glue import generate
from .schedules import Source, read_functions, read_text
from .team import make_team

TARGETS = ("auto", "serial", "parallel", "cuda")

#: Nanoseconds of serial work in one pass from which threads pay: for a schedule of a single pass, which has to start
#: them, and for one of very many, where they only wait for each other.
PARALLEL_FROM = 30_000.0
PARALLEL_FROM_WHEN_RUNNING = 1_100.0


class Program:
    """Schedules over device functions, compiled for a target when first run there.

    name: appears in messages and file names.
    schedules: plain functions whose statements loop, slice and launch; see ``launch``.
    samples: ``samples(dtype)`` gives, by schedule name, example arguments (numpy arrays, scalars, tuples of them);
        from these the CUDA check learns the types to compile for.
    """

    def __init__(self, name: str, schedules: tuple[FunctionType, ...], samples: Callable | None = None) -> None:
        self.name = name
        self.samples = samples
        self._read = lambda: read_functions(tuple(schedules))
        self._source: Source | None = None
        self.entries: dict[tuple, tuple] = {}
        REGISTERED.setdefault(name, self)

    @classmethod
    def from_source(cls, name: str, source: str, names: dict[str, object], samples: Callable | None = None) -> Program:
        """A program from generated text: functions marked ``@device`` and, undecorated, schedules.

        names: what the free names in the text stand for: device functions, overloaded functions, modules, constants.
        """
        program = cls(name, (), samples)
        program._read = lambda: read_text(source, names)
        return program

    @property
    def source(self) -> Source:
        """Functions of the program as syntax trees and the objects they refer to."""
        if self._source is None:
            self._source = self._read()
        return self._source

    @property
    def schedules(self) -> tuple[str, ...]:
        """Names of the schedules."""
        return tuple(name for name in self.source.functions if self.source.is_schedule(name))

    def run(self, schedule: str, *args, target: str = "auto", work: float | None = None, passes: int = 1):
        """Run a schedule.

        args: tensors or numpy arrays (used in place, never copied), tuples of them, numbers. Python floats take the
            dtype of the arrays, which must all have the same.
        target: auto, serial, parallel or cuda. auto is cuda for CUDA tensors; else parallel where it pays.
        work: rough time of the largest pass on one core [ns], by which auto decides; unknown means serial.
        passes: how many such passes the schedule has.
        """
        if target not in TARGETS:
            raise ValueError(f"{self.name}: target {target!r} is unknown; expected one of {', '.join(TARGETS)}")
        if target == "cuda":
            return self._run_on_gpu(schedule, args)
        try:
            arrays: list = []
            host = arguments.as_host(args, arrays)
        except arguments.OnGpu:
            if target == "auto":
                return self._run_on_gpu(schedule, args)
            raise TypeError(f"{self.name}: target {target!r} was asked for, but arguments are in GPU memory") from None
        if target == "auto":
            target = _choose(work, passes)
        key = (schedule, target, arguments.host_key(host, arrays))
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = self._build(schedule, target, host)
        function, real, floats = entry
        typed = arguments.with_real_scalars_at(floats, host, real)
        if target == "parallel":
            threads.prepare()
            typed.append(make_team(threads.num_threads()))
        return function(*typed)

    def _run_on_gpu(self, schedule: str, args: tuple):
        from . import gpu

        return gpu.run(self, schedule, args)

    def _build(self, schedule: str, target: str, host: tuple) -> tuple[Callable, type, tuple[int, ...]]:
        """Compiled code, the type that Python floats among its arguments take, and which arguments hold any."""
        real = arguments.real_type(self.name, self.parameters(schedule, len(host)), host)
        typed = arguments.with_real_scalars(host, real)
        text, names, stem = self.generated(schedule, target, (schedule, target, arguments.file_key(host)))
        module = cpu.load_module(stem, text, {**cpu.namespace(), **names})
        if target == "parallel":
            threads.prepare()
            typed = (*typed, make_team(1))
        title = f"{self.name}.{schedule} for {target} CPU, {real.__name__}"
        floats = tuple(k for k, value in enumerate(host) if arguments.has_floats(value))
        return cpu.compiled(module, schedule, typed, title), real, floats

    def assembly(self, schedule: str, *args, target: str = "serial") -> str:
        """Machine code of a schedule for arguments of these types, as text: compiled anew, for inspection."""
        host = arguments.as_host(args)
        real = arguments.real_type(self.name, self.parameters(schedule, len(host)), host)
        text, names, stem = self.generated(schedule, target, "assembly")
        module = cpu.load_module(stem, text, {**cpu.namespace(cache=False), **names})
        return cpu.assembly(module, schedule, arguments.with_real_scalars(host, real))

    def parameters(self, schedule: str, count: int) -> tuple[str, ...]:
        """Argument names of a schedule, checked against the number given."""
        if schedule not in self.schedules:
            raise ValueError(f"{self.name} has no schedule {schedule!r}; it has {', '.join(self.schedules)}")
        names = tuple(argument.arg for argument in self.source.functions[schedule].args.args)
        if len(names) != count:
            raise TypeError(f"{self.name}.{schedule} takes {len(names)} arguments ({', '.join(names)}), {count} given")
        return names

    def generated(self, schedule: str, target: str, key: object) -> tuple[str, dict[str, object], str]:
        """Source text for a target, the objects its names stand for, and the file stem that tells its content."""
        scalar_only = target == "cuda" or bool(numba.config.DISABLE_JIT)
        text = generate(self.source, schedule, target, scalar_only, f"{self.name}.{schedule} for {target}")
        digest = hashlib.sha256()
        for part in (text, fingerprint(self.source.names), environment(), repr(key), _machine()):
            digest.update(part.encode() + b"\0")
        plain = re.sub(r"\W+", "_", f"{self.name}_{schedule}_{target}")
        return text, self.source.names, f"{plain}_{digest.hexdigest()[:20]}"


#: Every program made so far, by name: what the CUDA check goes through.
REGISTERED: dict[str, Program] = {}


def _choose(work: float | None, passes: int = 1) -> str:
    if work is None or threads.num_threads() == 1:
        return "serial"
    if (told := os.environ.get("DIFFLOOM_PARALLEL_FROM")) is not None:
        enough = float(told)
    else:
        start = PARALLEL_FROM - PARALLEL_FROM_WHEN_RUNNING
        enough = PARALLEL_FROM_WHEN_RUNNING + start / max(passes, 1)
    return "parallel" if work >= enough else "serial"


def _machine() -> str:
    """Processor the code is compiled for, as numba sees it."""
    return repr(cpu_target.target_context.codegen().magic_tuple())
