"""Programs: sets of pipelines that are compiled for the arguments and the target of a call."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import numba
from numba.core import types

from ..backends import cpu, threads
from ..backends.numba_mode import compiler, tell_reason
from ..backends.thread_team import TEAM_OF_ONE, run_team
from ..rowtypes import type_of
from . import arguments
from .fingerprint import environment, fingerprint
from .memory_bound import compile_in_child_if_large
from .specialise import specialise
from .write import generate

Samples = dict[str, tuple[Any, ...]]

#: Lock: one program is built at a time, because numba's compiler has a global lock anyway.
_BUILDING = threading.RLock()

TARGETS = ("auto", "serial", "parallel", "cuda")

#: Serial work in one pass from which threads pay [ns]: for a pipeline of one pass, which has to start the threads, and
#: for one of very many passes, whose cost is the barrier.
PARALLEL_FROM = 30_000.0
PARALLEL_FROM_WHEN_RUNNING = 1_100.0


class Program:
    """Pipelines over device functions, compiled for a target when they first run there.

    program = Program("springs", (forces,))
    program.run("forces", steps, x, nodes, stiffness, rest, slots)

    Args:
        name: Name in messages and file names.
        pipelines: Plain functions whose statements loop, slice and launch; see ``launch``.
        samples: ``samples(dtype)`` returns example arguments by pipeline name (numpy arrays, scalars, records), from
            which
            the CUDA check takes the types to compile for.
        spills: Reasons by body for kernels that may spill a few registers on a GPU; the check prints them.
    """

    def __init__(
        self,
        name: str,
        pipelines: tuple[Callable[..., Any], ...],
        samples: Callable[[Any], Samples] | None = None,
        spills: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.samples = samples
        self.spills = dict(spills or {})
        self._functions = {function.__name__: function for function in pipelines}
        self.entries: dict[Any, Any] = {}
        REGISTERED.setdefault(name, self)

    @property
    def pipelines(self) -> tuple[str, ...]:
        """Names of the pipelines."""
        return tuple(self._functions)

    def run(
        self,
        pipeline: str,
        *args: Any,
        target: str = "auto",
        work: float | None = None,
        passes: int = 1,
        label: str = "",
    ) -> Any:
        """Run a pipeline.

        Args:
            pipeline: Name of the pipeline.
            *args: Tensors or numpy arrays (used in place, never copied), records of them, and numbers. Python floats
                take the
                dtype of the arrays, which must be one.
            target: "auto", "serial", "parallel" or "cuda". "auto" is "cuda" for CUDA tensors, else "parallel" where it
                pays.
            work: Rough time of the largest pass on one core [ns], by which "auto" decides; None means serial.
            passes: Number of passes of that size.
            label: Name of the simulated or rendered thing, for messages.

        Returns:
            Result of the pipeline.

        Raises:
            ValueError: The target or the pipeline is unknown.
            TypeError: Arrays differ in precision or device, or the number of arguments is wrong.
        """
        if target not in TARGETS:
            raise ValueError(f"{self.name}: target {target!r} is unknown; expected one of {', '.join(TARGETS)}")
        if target == "cuda":
            return self._run_on_gpu(pipeline, args)
        try:
            host, key = arguments.convert_arguments(args)
        except arguments.OnGpu:
            if target == "auto":
                return self._run_on_gpu(pipeline, args)
            raise TypeError(f"{self.name}: target {target!r} was asked for, but arguments are in GPU memory") from None
        if target == "auto":
            target = _choose(work, passes)
        entry = self.entries.get((pipeline, key))
        if entry is None:
            with _BUILDING:
                entry = self.entries.get((pipeline, key)) or self._build(pipeline, args, host, label)
                self.entries[pipeline, key] = entry
        function, real, floats = entry
        for k in floats:
            host[k] = arguments.with_real_scalars(host[k], real)
        if target == "parallel" and not numba.config.DISABLE_JIT:
            return run_team(function, host, threads.num_threads())
        return function(TEAM_OF_ONE, 0, *host)

    def _run_on_gpu(self, pipeline: str, args: tuple[Any, ...]) -> Any:
        """Run a pipeline on CUDA."""
        from ..backends import cuda

        return cuda.run(self, pipeline, args)

    def _build(
        self, pipeline: str, args: tuple[Any, ...], host: list[Any], label: str
    ) -> tuple[Callable[..., Any], Any, tuple[int, ...]]:
        """Compile a pipeline.

        Returns:
            Compiled function, float type of Python floats among its arguments, and positions of the arguments that hold
                any.
        """
        given = tuple(map(arguments.convert_tensors, args))
        real = arguments.real_type(self.name, self.parameters(pipeline, len(given)), given)
        floats = tuple(k for k, value in enumerate(host) if arguments.has_floats(value))
        given = arguments.with_real_scalars(given, real)
        if numba.config.DISABLE_JIT:
            return partial(_interpret, self._functions[pipeline], given), real, floats
        tell_reason()
        kinds = tuple(map(type_of, given))
        text, names, stem = self.generated(pipeline, "cpu", given, kinds, label)
        title = f"{label or self.name}: {pipeline}, {real.__name__}"
        with cpu.temporary_module(stem, text, {**cpu.namespace(), **names}) as module:
            path = Path(str(module.__file__)).with_suffix(".code")
            # Compiled code unpacks its arguments as these types without checks; the key ensures that they match.
            made = partial(compiler.compile_entry, getattr(module, pipeline), (*TEAM_KINDS, *kinds), path, title)
            return compile_in_child_if_large(made, path), real, floats

    def assembly(self, pipeline: str, *args: Any) -> str:
        """Return the machine code of a pipeline for arguments of these types, compiled anew, for inspection.

        Args:
            pipeline: Name of the pipeline.
            *args: Arguments as for ``run``.

        Returns:
            Assembly as text.
        """
        given = tuple(map(arguments.convert_tensors, args))
        given = arguments.with_real_scalars(
            given, arguments.real_type(self.name, self.parameters(pipeline, len(given)), given)
        )
        text, names, stem = self.generated(pipeline, "cpu", given, "assembly")
        with cpu.temporary_module(stem, text, {**cpu.namespace(), **names}) as module:
            return str(compiler.get_assembly(getattr(module, pipeline), (*TEAM_KINDS, *map(type_of, given))))

    def parameters(self, pipeline: str, count: int) -> tuple[str, ...]:
        """Return the parameter names of a pipeline, after checking their number.

        Args:
            pipeline: Name of the pipeline.
            count: Number of arguments given.

        Returns:
            Names of the parameters.

        Raises:
            ValueError: The pipeline does not exist.
            TypeError: The number of arguments is wrong.
        """
        if pipeline not in self._functions:
            raise ValueError(f"{self.name} has no pipeline {pipeline!r}; it has {', '.join(self.pipelines)}")
        names = tuple(inspect.signature(self._functions[pipeline]).parameters)
        if len(names) != count:
            raise TypeError(f"{self.name}.{pipeline} takes {len(names)} arguments ({', '.join(names)}), {count} given")
        return names

    def generated(
        self, pipeline: str, target: str, given: tuple[Any, ...], key: object, label: str = ""
    ) -> tuple[str, dict[str, object], str]:
        """Generate the source of a pipeline.

        Args:
            pipeline: Name of the pipeline.
            target: "cpu" or "cuda".
            given: Arguments, for whose structure the code is specialised.
            key: Types of the arguments, hashed by their names, because their representations are ambiguous.
            label: Name for messages and the file.

        Returns:
            Source text, objects by the global names it uses, and a file stem with the hash of all that the code depends
                on.
        """
        source = specialise(cast("FunctionType", self._functions[pipeline]), given)
        text = generate(source, pipeline, target, f"{label or self.name}: {pipeline} for {target}")
        digest = hashlib.sha256()
        for part in (
            text,
            fingerprint(source.names),
            environment(target),
            arguments.stable_text(key),
            compiler.describe_processor(),
        ):
            digest.update(part.encode() + b"\0")
        plain = re.sub(r"\W+", "_", f"{label or self.name}_{pipeline}_{target}")
        return text, source.names, f"{plain[:80]}_{digest.hexdigest()[:20]}"


def _interpret(function: Callable[..., Any], given: tuple[Any, ...], _team: Any, member: int, *host: Any) -> Any:
    """Run a pipeline as plain Python, with the records of ``given`` and the arrays and numbers of this call."""
    return function(*[_fill_record(like, value) for like, value in zip(given, host, strict=True)])


def _fill_record(like: Any, value: Any) -> Any:
    """Return ``like`` with the arrays and numbers of ``value`` in place."""
    if isinstance(like, tuple):
        return arguments.rebuild(like, [_fill_record(a, b) for a, b in zip(like, value, strict=True)])
    return like if value is None else value


#: Types of the leading arguments of a compiled pipeline: the team's memory and the number of the calling member.
TEAM_KINDS = (type_of(TEAM_OF_ONE), types.int64)

#: All programs by name, for the CUDA check.
REGISTERED: dict[str, Program] = {}


def _choose(work: float | None, passes: int = 1) -> str:
    """Return the target that "auto" stands for on the CPU: "parallel" if the work of a pass pays for the threads."""
    if work is None or threads.num_threads() == 1:
        return "serial"
    if (setting := os.environ.get("DIFFLOOM_PARALLEL_FROM")) is not None:
        enough = float(setting)
    else:
        start = PARALLEL_FROM - PARALLEL_FROM_WHEN_RUNNING
        enough = PARALLEL_FROM_WHEN_RUNNING + start / max(passes, 1)
    return "parallel" if work >= enough else "serial"


#: Arguments of pipelines by name.
RecordedCalls = dict[str, tuple[Any, ...]]


@contextmanager
def record_calls(
    program: Program, answer: Callable[[str, tuple[Any, ...]], None] | None = None
) -> Iterator[RecordedCalls]:
    """Context manager: record the arguments of every pipeline of a program instead of running it.

    Args:
        program: Program that is patched while the context is active.
        answer: Function of the pipeline's name and arguments that fills in the results the caller needs.

    Returns:
        Arguments by pipeline name.
    """
    noted: RecordedCalls = {}

    def run(pipeline: str, *args: Any, **_: Any) -> None:
        noted[pipeline] = args
        if answer is not None:
            answer(pipeline, args)

    program.run = run  # type: ignore[method-assign]
    try:
        yield noted
    finally:
        del program.run
