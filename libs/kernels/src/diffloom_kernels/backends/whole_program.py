"""Whole-program compilation: a program becomes one LLVM module.

numba optimises every function on its own, emits machine code and a Python wrapper for it, and repeats all of that in
each caller. Device functions are rarely called from outside a program, so they are only simplified at first; the entry
links all functions that it reaches, and the result is optimised and translated once. Symbols that are not visible from
outside become internal to the module, so that LLVM removes unread arguments.

This relies on private parts of numba: code libraries (``numba.core.codegen``), the construction of compiler pipelines,
and the serialisation of compile results. ``libs/kernels/tests/test_whole_program.py`` lists the checks for a new
release. ``plain_numba`` has the public functions of this module without private parts; ``numba_mode`` chooses.
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

#: Suffix of symbols that are internal to a program. Their machine code has another signature than the device
#: function's, and numba's linker would find them by name in any loaded program.
OWN = ".own"


class _WithoutEnvironment:
    """Code generator for code that is not executed where it is made, so it has no environment to set."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class _NotExecuted(JITCodeLibrary):  # type: ignore[misc]
    """Code library that is not added to the execution engine."""

    @property
    def codegen(self) -> Any:
        """Code generator without environments."""
        return _WithoutEnvironment(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        """Return a null address."""
        self._ensure_finalized()
        return 0


class DeviceLibrary(_NotExecuted):
    """LLVM module of one device function, without its callees."""

    def _optimize_functions(self, module: Any) -> None:
        """Simplify the function."""
        module.data_layout = self._codegen._data_layout
        passes, builder = _make_function_passes(self._codegen)
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        """Mark the library as final."""
        self._finalized = True

    def own_module(self) -> Any:
        """Return the module of this function alone, for linking."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """Return the function with all its callees, for numba's own libraries, which do not link callees of callees."""
        whole = self.own_module().clone()
        for library in _collect_libraries(self._linking_libraries):
            whole.link_in(_get_link_module(library), preserve=True)
        return whole


class EntryLibrary(_NotExecuted):
    """LLVM module of a program's entry with all functions that it reaches, and its machine code."""

    def _optimize_functions(self, module: Any) -> None:
        """Do nothing yet: the whole module is optimised at the end."""
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link all reached functions, make them internal, optimise the module and emit its machine code."""
        for library in _collect_libraries(self._linking_libraries):
            self._final_module.link_in(_get_link_module(library), preserve=True)
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
        """Return the machine code, and a stub module that only defines the exported symbols in place of the LLVM
        code.
        """
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
def _make_function_passes(codegen: Any) -> Any:
    """Return the memoised passes over one function, at level 2.

    Level 3 would unroll loops whose bodies still look short because they are calls.
    """
    return codegen._function_pass_manager(opt=2)


def _collect_libraries(libraries: list[CPUCodeLibrary]) -> Iterator[CPUCodeLibrary]:
    """Yield these libraries and all that they use, each once and after its users.

    The order matters, because the linker drops a function that nothing refers to yet.
    """
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


def _get_link_module(library: CPUCodeLibrary) -> Any:
    """Return the module of a library that is linked."""
    return library.own_module() if isinstance(library, DeviceLibrary) else library._get_module_for_linking()


class _LibraryCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler with a code library and a lowering pass of our own."""

    library: type[CPUCodeLibrary]
    lowering: type = NativeLowering

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any):
        flags.no_cfunc_wrapper = True
        make_flags_quick(flags)
        super().__init__(*make_quick(typing, target), library, args, return_type, flags, locals)

    def define_pipelines(self) -> Any:
        """Return the memoised passes: numba's without those that do nothing in device code."""
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.type_annotation = None
        inner = any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts)
        if (type(self), inner) not in _PIPELINES:
            unused = _UNUSED if inner else _UNUSED | _FOR_CLOSURES
            made = [_adapt_passes(each, unused, self.lowering) for each in super().define_pipelines()]
            _PIPELINES[type(self), inner] = made
        return _PIPELINES[type(self), inner]


#: Pass managers by compiler and by whether the function has inner functions.
_PIPELINES: dict[tuple[type, bool], list[PassManager]] = {}


#: Passes of numba's that do nothing in device code; most of them recompute all analyses of the function.
_UNUSED = frozenset({
    "with_lifting", "Rewrite dynamic raises", "inline_inlinables", "find_literally", "literal_unroll",
    "LiteralPropagation", "inline_overloads", "nopython_rewrites", "nopython_supported_feature_validation",
    "annotate_types", "dump_parfor_diagnostics",
})  # fmt: skip
_FOR_CLOSURES = frozenset({"inline_closure_likes", "make_function_op_code_to_jit_function"})


class _Passes(PassManager):  # type: ignore[misc]
    """Pass manager that runs passes without numba's event reports and timers."""

    def _runPass(self, index: int, each: Any, state: Any) -> None:
        """Run one pass."""
        each.analysis = self._analysis
        with new_error_context("Pass {name}", name=each.name()):
            each.run_initialization(state)
            each.run_pass(state)
            each.run_finalizer(state)


def _adapt_passes(passes: PassManager, without: frozenset[str], lowering: type) -> PassManager:
    """Return a pass manager without some passes, with the quick replacements and with another lowering pass."""
    kept = _Passes(passes.pipeline_name)
    left = [(each, why) for each, why in passes.passes if each._name not in without]
    others = {**QUICK_PASSES, NativeLowering: lowering}
    kept.passes = [(others.get(each, each), why) for each, why in left]
    kept.finalize()
    return kept


class DeviceCompiler(_LibraryCompiler):
    """Compiler of a device function to LLVM code."""

    library = DeviceLibrary
    lowering = DeviceLowering

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any):
        flags.no_cpython_wrapper = True
        super().__init__(typing, target, library, args, return_type, flags, locals)


class EntryCompiler(_LibraryCompiler):
    """Compiler of a program's entry with everything that it reaches."""

    library = EntryLibrary
    lowering = EntryLowering


class EntryFunction(CPUDispatcher):  # type: ignore[misc]
    """Dispatcher that compiles without numba's timers, whose number of reports grows quadratically."""

    def compile(self, sig: Any) -> Any:
        """Compile the function for a signature."""
        with global_compiler_lock, self._compiling_counter:
            args, return_type = normalize_signature(sig)
            if tuple(args) not in self.overloads:
                self.add_overload(self._compiler.compile(args, return_type))
            return self.overloads[tuple(args)].entry_point


class DeviceFunction(EntryFunction):
    """Dispatcher of a function for compiled code; a call from Python compiles an ordinary ``njit`` function."""

    _alone: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if self._alone is None:
            options = {name: value for name, value in self.targetoptions.items() if name != "nopython"}
            self._alone = njit(**options)(self.py_func)
        return self._alone(*args)


def _make_function(kind: type, compiler: type, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a dispatcher of this kind with a compiler class."""
    plain = {name: value for name, value in options.items() if name != "pipeline_class"}
    return kind(function, targetoptions={**plain, "nopython": True}, pipeline_class=compiler)


#: Name of this mode, and its additional compiler options of device functions. _nrt=False removes reference counting,
#: so reading an array from a tuple costs nothing, and allocating is a compile error.
NAME = "whole program"
OPTIONS: dict[str, Any] = {"_nrt": False, "pipeline_class": DeviceCompiler}
#: Lock that is held during compilation.
COMPILER_LOCK: Any = global_compiler_lock
#: Function that returns the parts of a value that determine its numba type.
argument_key = dispatcher.compute_fingerprint

#: Position of the signature in a serialised compile result.
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
        if not result.library.has_dynamic_globals:  # dynamic globals are addresses of this process
            write_code(path, dumps(parts))
    # Rebuild the result from its parts, so that nothing else of the compilation is kept.
    return cast("Callable[..., Any]", CompileResult._rebuild(result.target_context, *parts).entry_point)


@global_compiler_lock  # type: ignore[untyped-decorator]
def _load(path: Path, kinds: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return compiled code from disk, or None if there is none that can be used.

    numba's cache would first load everything that compiling needs, which takes longer than all other steps together.
    """
    payload = read_code(path)
    if payload is None:
        return None
    try:
        parts = pickle.loads(payload)
        if parts[_SIGNATURE].args != kinds:  # code for other types would misread the arguments
            return None
        found = CompileResult._rebuild(cpu_target.target_context, *parts)
    except Exception:  # intact, but unusable with this numba: compile anew
        return None
    return cast("Callable[..., Any]", found.entry_point)


def get_assembly(entry: Any, kinds: tuple[Any, ...]) -> str:
    """Return the machine code of an entry as text."""
    entry.compile(kinds)
    return str(entry.inspect_asm(kinds))


def describe_processor() -> str:
    """Return the processor that code is compiled for, as numba sees it."""
    return repr(cpu_target.target_context.codegen().magic_tuple())
