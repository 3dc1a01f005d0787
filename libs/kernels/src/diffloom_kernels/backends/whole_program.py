"""Compiling a program as one piece of LLVM code.

numba optimises every function on its own, makes machine code and a Python wrapper for it, then does all of that again
in each function that calls it. Device functions are hardly ever called from outside a program, so theirs is only tidied
until the program's entry gathers what it reaches, and has it optimised and translated once. What is not seen from
outside is made private to the program: arguments that nobody reads are then not even passed.

This stands on private parts of numba: on code libraries (``numba.core.codegen``), on how a compiler pipeline finds its
own and on how results are taken apart. ``libs/kernels/tests/test_whole_program.py`` says what to look at when they
change. ``plain_numba`` has the functions at the end of this module without any of it; ``numba_mode`` chooses.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from types import CodeType
from typing import Any, cast

from llvmlite import binding as llvm, ir
from numba import njit

from ..compile.cache import locked, read_code, write_code
from ..compile.notices import notice
from .device_lowering import DeviceLowering
from .entry_lowering import EntryLowering
from .numba_internals import (
    Compiler,
    CompileResult,
    CPUCodeLibrary,
    CPUDispatcher,
    JITCodeLibrary,
    NativeLowering,
    PassManager,
    cpu_target,
    dispatcher,
    dumps,
    global_compiler_lock,
    new_error_context,
    normalize_signature,
)
from .plain_numba import SHARED
from .quick_numba import QUICK_PASSES, make_flags_quick, make_quick

#: Ends the names of what is private to a program. Its machine code takes other arguments than the device function's,
#: and numba's linker, asked for a device function by name, would find it in any program that was loaded.
OWN = ".own"


class _WithoutEnvironment:
    """A code generator for code that is not run where it is made, so has no place for an environment."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing."""


class _NotRun(JITCodeLibrary):  # type: ignore[misc]
    """Code that is not handed to the execution engine."""

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironment(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class DeviceLibrary(_NotRun):
    """LLVM code of one device function, without what it calls."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        passes, builder = _tidying(self._codegen)
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        self._finalized = True

    def own_module(self) -> Any:
        """The function alone, as something to link."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """The function with all it calls: for libraries of numba's own, which look no further."""
        whole = self.own_module().clone()
        for library in _reached(self._linking_libraries):
            whole.link_in(_material(library), preserve=True)
        return whole


class EntryLibrary(_NotRun):
    """LLVM code of a program's entry together with all it reaches, and the machine code of that."""

    def _optimize_functions(self, module: Any) -> None:
        """Not yet: all of it is optimised at the end."""
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        for library in _reached(self._linking_libraries):
            self._final_module.link_in(_material(library), preserve=True)
        for function in self._final_module.functions:
            if function.linkage == llvm.Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = "internal"
                function.name += OWN
                if SHARED in function.name:
                    function.add_function_attribute("noinline")
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        self._final_module.verify()
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self.enable_object_caching()
        self._compiled_object = self._codegen._tm.emit_object(self._final_module)
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """The machine code, and in place of the LLVM code a module that only tells the names it defines."""
        names = self._codegen._create_empty_module(self.name)
        nothing = ir.FunctionType(ir.VoidType(), [])
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                ir.IRBuilder(ir.Function(names, nothing, function.name).append_basic_block()).ret_void()
        for value in self._final_module.global_variables:
            if not value.is_declaration and value.linkage == llvm.Linkage.common:
                ir.GlobalVariable(names, ir.IntType(8), value.name).initializer = ir.Constant(ir.IntType(8), 0)
        return self.name, "object", (self._get_compiled_object(), llvm.parse_assembly(str(names)).as_bitcode())


@functools.cache
def _tidying(codegen: Any) -> Any:
    """Passes over one function. They are kept: making them takes time, and memory that is never given back.

    Of the second level: the third writes loops twice while the bodies in them are still calls, which look short.
    """
    return codegen._function_pass_manager(opt=2)


def _reached(libraries: list[CPUCodeLibrary]) -> Iterator[CPUCodeLibrary]:
    """These libraries and those they use, each once, and after all that use it: else it might not be linked, since a
    function that nothing refers to yet is left out."""
    seen: set[CPUCodeLibrary] = set()
    found: list[CPUCodeLibrary] = []

    def visit(library: CPUCodeLibrary) -> None:
        if library in seen:
            return
        seen.add(library)
        if isinstance(library, DeviceLibrary):
            for used in reversed(library._linking_libraries):
                visit(used)
        found.append(library)

    for library in reversed(libraries):
        visit(library)
    yield from reversed(found)


def _material(library: CPUCodeLibrary) -> Any:
    return library.own_module() if isinstance(library, DeviceLibrary) else library._get_module_for_linking()


class _LibraryCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler with a code library of another kind."""

    library: type[CPUCodeLibrary]
    lowering: type = NativeLowering

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any):
        flags.no_cfunc_wrapper = True
        make_flags_quick(flags)
        super().__init__(*make_quick(typing, target), library, args, return_type, flags, locals)

    def define_pipelines(self) -> Any:
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.type_annotation = None
        inner = any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts)
        if (type(self), inner) not in _PIPELINES:
            unused = _UNUSED if inner else _UNUSED | _FOR_CLOSURES
            made = [_changed(each, unused, self.lowering) for each in super().define_pipelines()]
            _PIPELINES[type(self), inner] = made
        return _PIPELINES[type(self), inner]


#: The passes of each compiler, for functions with inner ones and without.
_PIPELINES: dict[tuple[type, bool], list[PassManager]] = {}


#: Passes of numba's that find nothing to do in device code. Each goes through every function, and most have all that
#: is known of it worked out anew.
_UNUSED = frozenset({
    "with_lifting", "Rewrite dynamic raises", "inline_inlinables", "find_literally", "literal_unroll",
    "LiteralPropagation", "inline_overloads", "nopython_rewrites", "nopython_supported_feature_validation",
    "annotate_types", "dump_parfor_diagnostics",
})  # fmt: skip
_FOR_CLOSURES = frozenset({"inline_closure_likes", "make_function_op_code_to_jit_function"})


class _Passes(PassManager):  # type: ignore[misc]
    """Passes of numba's, run without telling of each what it was given, and how long it took."""

    def _runPass(self, index: int, each: Any, state: Any) -> None:
        each.analysis = self._analysis
        with new_error_context("Pass {name}", name=each.name()):
            each.run_initialization(state)
            each.run_pass(state)
            each.run_finalizer(state)


def _changed(passes: PassManager, without: frozenset[str], lowering: type) -> PassManager:
    """The passes without some, and with this one that writes LLVM code."""
    kept = _Passes(passes.pipeline_name)
    left = [(each, why) for each, why in passes.passes if each._name not in without]
    others = {**QUICK_PASSES, NativeLowering: lowering}
    kept.passes = [(others.get(each, each), why) for each, why in left]
    kept.finalize()
    return kept


class DeviceCompiler(_LibraryCompiler):
    """Compiles a device function as far as LLVM code."""

    library = DeviceLibrary
    lowering = DeviceLowering

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any):
        flags.no_cpython_wrapper = True
        super().__init__(typing, target, library, args, return_type, flags, locals)


class EntryCompiler(_LibraryCompiler):
    """Compiles a program's entry with everything that it reaches."""

    library = EntryLibrary
    lowering = EntryLowering


class EntryFunction(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled without numba's stopwatches, each of which is told of all that any other measures."""

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock, self._compiling_counter:
            args, return_type = normalize_signature(sig)
            if tuple(args) not in self.overloads:
                self.add_overload(self._compiler.compile(args, return_type))
            return self.overloads[tuple(args)].entry_point


class DeviceFunction(EntryFunction):
    """A function for compiled code. Called from Python it works too, compiled on its own for that."""

    _alone: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if self._alone is None:
            options = {name: value for name, value in self.targetoptions.items() if name != "nopython"}
            self._alone = njit(**options)(self.py_func)
        return self._alone(*args)


def _make_function(kind: type, compiler: type, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    plain = {name: value for name, value in options.items() if name != "pipeline_class"}
    return kind(function, targetoptions={**plain, "nopython": True}, pipeline_class=compiler)


#: Name of this way to compile, and compiler options of device functions that it has beside the public ones.
#: _nrt=False: no reference counting, so taking an array out of a tuple is free (and allocating is a compile error).
NAME = "whole program"
OPTIONS: dict[str, Any] = {"_nrt": False, "pipeline_class": DeviceCompiler}
#: Held while something is compiled.
COMPILER_LOCK: Any = global_compiler_lock
#: What of a value makes numba take it for another type.
argument_key = dispatcher.compute_fingerprint

#: Where a compile result that was taken apart has its signature.
_SIGNATURE = list(signature(CompileResult._rebuild).parameters).index("signature") - 1


def make_device_function(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function for compiled code."""
    return _make_function(DeviceFunction, DeviceCompiler, function, options)


def make_entry(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the entry of a program, to be compiled."""
    return _make_function(EntryFunction, EntryCompiler, function, options)


def compile_entry(entry: Any, kinds: tuple[Any, ...], path: Path, title: str) -> Callable[..., Any]:
    """Compile the entry of a program for arguments of these types, or load it from disk.

    Args:
        entry: From ``make_entry``.
        kinds: numba's types of the arguments.
        path: File of the machine code.
        title: Name of the program in messages.
    """
    stored: Callable[..., Any] | None = _load(path, kinds)
    if stored is not None:
        return stored
    with locked(path):
        stored = _load(path, kinds)
        if stored is not None:  # compiled by another process meanwhile
            return stored
        notice(f"compiling {title} (once; kept in {path.parent})")
        entry.compile(kinds)
        result = entry.overloads[kinds]
        parts = result._reduce()
        if not result.library.has_dynamic_globals:  # addresses of this process
            write_code(path, dumps(parts))
    # The machine code is taken out of its compile result, so that nothing of its making is kept.
    return cast("Callable[..., Any]", CompileResult._rebuild(result.target_context, *parts).entry_point)


@global_compiler_lock  # type: ignore[untyped-decorator]
def _load(path: Path, kinds: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Compiled code from disk, or None if there is none that can be used.

    numba's own cache would first load all it knows about compiling, which takes longer than everything else here
    together; finished code needs none of it.
    """
    payload = read_code(path)
    if payload is None:
        return None
    try:
        parts = pickle.loads(payload)
        if parts[_SIGNATURE].args != kinds:  # code for other arguments would take ours for something else
            return None
        found = CompileResult._rebuild(cpu_target.target_context, *parts)
    except Exception:  # whole, but not what this numba can use: compile anew
        return None
    return cast("Callable[..., Any]", found.entry_point)


def get_assembly(entry: Any, kinds: tuple[Any, ...]) -> str:
    """Return the machine code of an entry as text."""
    entry.compile(kinds)
    return str(entry.inspect_asm(kinds))


def describe_processor() -> str:
    """Return the processor that code is compiled for, as numba sees it."""
    return repr(cpu_target.target_context.codegen().magic_tuple())
