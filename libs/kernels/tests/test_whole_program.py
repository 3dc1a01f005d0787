"""Programs compiled as one piece, and the private parts of numba that this stands on.

If a test of names or fields fails after an upgrade of numba: everything private is named in
backends/numba_internals.py, and used in backends/whole_program.py, backends/device_lowering.py,
backends/entry_lowering.py and backends/quick_numba.py. Until it is mended the plain mode is used. Compare them with
numba/core/codegen.py (what code libraries do in `finalize` and `serialize_using_object_code`), numba/core/compiler.py
(how a pipeline finds its library, how results are taken apart), numba/core/typed_passes.py (NativeLowering,
PreLowerStripPhis), numba/core/untyped_passes.py (those that quick_numba replaces), numba/core/callconv.py,
numba/core/callwrapper.py and numba/core/dispatcher.py. Then run all of libs/kernels/tests and add the release to
TRIED_NUMBA in backends/numba_mode.py.
"""

import functools
import inspect
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numba
import numpy as np
import pytest
from llvmlite import ir as llvm_ir
from numba.core import base, ir_utils, postproc, types
from numba.core.callconv import CPUCallConv
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, CompilerBase, CompileResult, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
from numba.core.lowering import Lower
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.rewrites import rewrite_registry
from numba.core.typed_passes import NativeLowering, PreLowerStripPhis
from numba.core.typeinfer import TypeInferer
from numba.core.typing.context import CallStack, Context
from numba.core.untyped_passes import ReconstructSSA
from numba.extending import overload

from diffloom_kernels import Program, device, launch
from diffloom_kernels.backends import quick_numba, whole_program
from diffloom_kernels.backends.numba_mode import TRIED_NUMBA, compiler
from diffloom_kernels.backends.whole_program import DeviceFunction

COMPILER_ARGUMENTS = ["self", "typingctx", "targetctx", "library", "args", "return_type", "flags", "locals"]
LOOK = f"numba {numba.__version__} differs here from {', '.join(TRIED_NUMBA)}: see the head of {__file__}"


@device
def twice(x):
    return x + x


@device
def four_times(x):
    return twice(twice(x))


@device
def body(i, a, out):
    out[i] = four_times(a[i])


def quadrupled(a, out):
    launch(a.shape[0], body, a, out)


quadrupling = Program("test_quadrupling", (quadrupled,))


@device(inline=False)
def third(x):
    return x / 3


@device(inline=False)
def ninth(x):
    return third(third(x))


def ninth_body(count):
    @device
    def body(i, a, out):
        for _ in range(count):  # no round: what it calls is referred to by ninth alone
            out[i] = third(a[i])
        out[i] = ninth(a[i])

    return body


divide = ninth_body(0)


def divided(a, out):
    launch(a.shape[0], divide, a, out)


dividing = Program("test_dividing", (divided,))


def test_a_function_is_linked_after_all_that_call_it():
    a, out = np.array([9.0, 18.0]), np.zeros(2)
    dividing.run("divided", a, out)
    assert out.tolist() == [1.0, 2.0]


def test_device_functions_are_called_from_python():
    assert isinstance(four_times, DeviceFunction)
    assert four_times(1.5) == 6.0
    assert four_times(3) == 12
    assert type(four_times(np.float32(1.5))) is float


def test_a_function_of_numbas_own_calls_device_functions():
    @numba.njit
    def summed(a):
        total = 0.0
        for x in a:
            total += four_times(x)
        return total

    assert summed(np.arange(5.0)) == 40.0


def test_a_program_sees_the_same_functions():
    a = np.arange(5, dtype=np.float32)
    out = np.zeros_like(a)
    quadrupling.run("quadrupled", a, out, target="serial")
    assert out.tolist() == [0.0, 4.0, 8.0, 12.0, 16.0]


SHARED_TWICE = """
import numpy as np
from diffloom_kernels import Program, device, launch
from diffloom_kernels.backends.team_kernels import first_tile
from diffloom_kernels.backends.thread_team import make_team

@device
def doubled(i, a):
    a[i] = a[i] + a[i]

def pipeline(a):
    launch(a.shape[0], doubled, a)

a = np.arange(5.0)
Program("shared_twice", (pipeline,)).run("pipeline", a, target="serial")
print(a.tolist(), first_tile(make_team(4), 2))
"""


def test_a_function_that_a_program_shares_is_called_from_python_too(tmp_path):
    """The program's copy is not passed what it does not read: called in place of the function itself it would crash."""
    (tmp_path / "shared_twice.py").write_text(SHARED_TWICE)
    environment = {**os.environ, "DIFFLOOM_CACHE_DIR": str(tmp_path / "cache"), "DIFFLOOM_QUIET": "1"}
    command = [sys.executable, str(tmp_path / "shared_twice.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0, 8.0] 2\n"


def test_generated_modules_are_let_go():
    a = np.arange(5, dtype=np.float64)
    quadrupling.run("quadrupled", a, a.copy(), target="serial")
    assert [name for name in sys.modules if name.startswith("diffloom_generated.test_quadrupling")] == []


@device
def scaled(v, s):
    return (v[0] * s, v[1] * s)


@device
def counted(x, n):
    total = x
    for k in range(n):
        total = total + x if k % 2 == 0 else total - x
    return total


@device
def by_steps(i, a, step, out):
    for k in range(0, 4, step):
        out[i] += a[k]


@device
def scale_and_count(i, a, out):
    v = scaled((a[i], a[i + 1]), a[0])
    out[i] = counted(v[0] + v[1], 3)


def straight(a, out):
    launch(out.shape[0], scale_and_count, a, out)


def stepping(a, step, out):
    launch(out.shape[0], by_steps, a, step, out)


conventions = Program("test_conventions", (straight, stepping))


def test_functions_that_cannot_raise_take_and_return_values_as_they_are():
    a, out = np.array([2.0, 3.0, 4.0]), np.zeros(2)
    conventions.run("straight", a, out)
    assert out.tolist() == [20.0, 28.0]
    conventions.assembly("straight", a, out)  # it may have been loaded from disk
    for function in (scaled, counted):
        (result,) = function.overloads.values()
        lines = str(result.library.own_module()).splitlines()
        (head,) = [line for line in lines if line.startswith("define") and result.fndesc.mangled_name in line]
        assert "excinfo" not in head
        assert " i32 @" not in head


def test_what_may_raise_still_does():
    a, out = np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(1)
    conventions.run("stepping", a, 2, out)
    assert out.tolist() == [4.0]
    with pytest.raises(ValueError, match="must not be zero"):
        conventions.run("stepping", a, 0, out)


@device
def with_number(x, k):
    return x + k


@device
def with_numbers(i, a, out):
    out[i] = with_number(a[i], 1) + with_number(a[i], 2)


def numbered(a, out):
    launch(a.shape[0], with_numbers, a, out)


numbering = Program("test_numbering", (numbered,))


def test_a_function_is_compiled_once_for_all_whole_numbers():
    a = np.array([1.0])
    numbering.assembly("numbered", a, a)
    assert list(with_number.overloads) == [(numba.float64, numba.int64)]
    numbering.run("numbered", a, a)
    assert a.tolist() == [5.0]


def new_body():
    """Device function that is not compiled yet, nor its callees."""

    @device
    def blended(x, y, k):
        return x * y - math.sqrt(x) / 3 if k > 2 else (x + y) * 0.5

    @device
    def body(i, a, out):
        x = a[i]
        for k in range(4):
            x = blended(x, a[(i + k) % a.shape[0]], k)
        out[i] = x

    return body


first_body, second_body = new_body(), new_body()


def plainly(a, out):
    launch(a.shape[0], first_body, a, out)


def quickly(a, out):
    launch(a.shape[0], second_body, a, out)


twins = Program("test_twins", (plainly, quickly))


def instructions(text):
    """Names of the machine's instructions in a text of them."""
    return [line.split()[0] for line in text.splitlines() if line.startswith("\t") and line[1:2] not in ".#"]


def test_quick_contexts_change_no_instruction(monkeypatch):
    a = np.linspace(0.5, 1.0, 9)
    with monkeypatch.context() as patch:
        patch.setattr(whole_program, "make_quick", lambda *contexts: contexts)
        patch.setattr(whole_program, "make_flags_quick", lambda flags: None)
        patch.setattr(whole_program, "QUICK_PASSES", {})
        patch.setattr(whole_program, "_PIPELINES", {})
        plain = instructions(twins.assembly("plainly", a, a.copy()))
    quick = instructions(twins.assembly("quickly", a, a.copy()))
    assert len(plain) > 30
    assert quick == plain


def test_quick_contexts_answer_as_those_of_numba():
    def with_loc(context, builder, sig, args, loc=None):
        """Takes it."""

    @functools.wraps(with_loc)
    def around(*given, **named):
        """Takes it, as its signature says."""

    asked = [with_loc, around, functools.partial(with_loc), lambda builder, *, loc: 0, lambda *args, **loc: 0, plainly]
    assert [quick_numba.takes_location(function) for function in asked] == [base._has_loc(each) for each in asked]

    pair = llvm_ir.LiteralStructType([llvm_ir.IntType(8), llvm_ir.DoubleType()])
    named = [llvm_ir.global_context.get_identified_type(f"test_{k}") for k in (1, 2)]
    for k, kind in enumerate(named):
        kind.set_body(*[llvm_ir.DoubleType()] * (k + 1))
    typing, context = cpu_target.typing_context, cpu_target.target_context
    quick_typing, quick_context = quick_numba.make_quick(typing, context)
    for kind in [pair, llvm_ir.ArrayType(pair, 3), llvm_ir.IntType(1), *named]:
        sizes = [quick_context.get_abi_sizeof(kind) for _ in range(2)]
        assert sizes == [context.get_abi_sizeof(kind)] * 2

    root = typing.resolve_value_type(math.sqrt)
    for args in [(types.float32,), (types.float64,), (types.int64,), (types.boolean,)]:
        answers = [quick_typing.resolve_function_type(root, args, {}) for _ in range(2)]
        assert answers == [typing.resolve_function_type(root, args, {})] * 2

    flags = Flags()
    flags.nrt = True
    values = flags.values()
    quick_numba.make_flags_quick(flags)
    assert flags.values() == values
    assert flags.copy().get_mangle_string() == Flags(flags).get_mangle_string()


def doubled(x):
    """Function without an overload until a test adds one."""
    return 2 * x


@device
def doubled_body(i, a, out):
    out[i] = doubled(a[i])


def late(a, out):
    launch(a.shape[0], doubled_body, a, out)


def test_functions_registered_late_are_found():
    quadrupling.assembly("quadrupled", np.ones(1), np.ones(1))  # registries have been read by now
    overload(doubled)(lambda x: lambda x: 2 * x)
    text = Program("test_late", (late,)).assembly("late", np.ones(1), np.ones(1))
    assert len(instructions(text)) > 5


PROGRAMS = """
from diffloom_kernels import Program, device, launch
"""
ONE = """
@device
def body_{k}(i, a, out):
    x = a[i]
    for j in range({k}, {k} + 3):
        x = x * x + a[j]
    out[i] = x

def pipeline_{k}(a, out):
    launch(a.shape[0], body_{k}, a, out)

program_{k} = Program("test_growth_{k}", (pipeline_{k},))
"""
GROWTH = """
import gc, sys
import numpy as np
import growing_kernels

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

a = np.linspace(0.0, 0.5, 100)
for k in range(35):
    if k == 5:
        before = resident()
    getattr(growing_kernels, f"program_{k}").run(f"pipeline_{k}", a, np.zeros_like(a), target="serial")
generated = [name for name in sys.modules if name.startswith("diffloom_generated")]
print(resident() - before, len(generated))
"""

#: Memory that thirty small programs may leave behind [bytes]. Each leaves about 1 MB: its device function with what
#: numba keeps of it, and its machine code. With generated modules and whole compile results kept it was 3 MB.
LIMIT = 30 * 1_500_000


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc, which is Linux's")
def test_a_long_lived_process_does_not_keep_what_it_compiled(tmp_path):
    """Compile thirty programs, after five that pay the costs of the first."""
    (tmp_path / "growing_kernels.py").write_text(PROGRAMS + "".join(ONE.format(k=k) for k in range(35)))
    (tmp_path / "growth.py").write_text(GROWTH)
    environment = {**os.environ, "DIFFLOOM_CACHE_DIR": str(tmp_path / "cache"), "DIFFLOOM_QUIET": "1"}
    command = [sys.executable, str(tmp_path / "growth.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    grown, modules = map(int, done.stdout.split())
    assert modules == 0
    assert grown < LIMIT, f"thirty small programs left {grown / 1e6:.1f} MB behind"


def test_this_numba_was_tried():
    """Fail after an upgrade of numba, because programs compile slower until that release was tried."""
    assert numba.__version__.rsplit(".", 1)[0] in TRIED_NUMBA, LOOK
    assert compiler is whole_program, LOOK


@pytest.mark.parametrize(
    ("owner", "name", "parameters"),
    [
        (CPUCodeLibrary, "_get_module_for_linking", ["self"]),
        (CPUCodeLibrary, "_finalize_dynamic_globals", ["self"]),
        (CPUCodeLibrary, "_verify_declare_only_symbols", ["self"]),
        (CPUCodeLibrary, "_get_compiled_object", ["self"]),
        (CPUCodeLibrary, "enable_object_caching", ["self"]),
        (CPUCodeLibrary, "finalize", ["self"]),
        (CPUCodeLibrary, "serialize_using_object_code", ["self"]),
        (CPUCodeLibrary, "_ensure_finalized", ["self"]),
        (JITCodeLibrary, "get_pointer_to_function", ["self", "name"]),
        (JITCPUCodegen, "_module_pass_manager", ["self", "kwargs"]),
        (JITCPUCodegen, "_create_empty_module", ["self", "name"]),
        (JITCPUCodegen, "set_env", ["self", "env_name", "env"]),
        (JITCPUCodegen, "magic_tuple", ["self"]),
        (Compiler, "define_pipelines", ["self"]),
        (CompilerBase, "__init__", COMPILER_ARGUMENTS),
        (CompileResult, "_reduce", ["self"]),
        (types.Function, "get_call_type", ["self", "context", "args", "kws"]),
        (CPUContext, "load_additional_registries", ["self"]),
        (Context, "load_additional_registries", ["self"]),
        (Flags, "values", ["self"]),
        (types.Dispatcher, "get_call_type", ["self", "context", "args", "kws"]),
        (TypeInferer, "propagate", ["self", "raise_errors"]),
        (NativeLowering, "run_pass", ["self", "state"]),
        (Lower, "init", ["self"]),
        (Lower, "emit_environment_object", ["self"]),
        (Lower, "create_cpython_wrapper", ["self", "release_gil"]),
        (PyCallWrapper, "build_wrapper", ["self", "api", "builder", "closure", "args", "kws"]),
        (CPUContext, "declare_env_global", ["self", "module", "envname"]),
        (CPUCallConv, "raise_error", ["self", "builder", "pyapi", "status"]),
        (CPUCallConv, "_get_return_status", ["self", "builder", "code", "excinfoptr"]),
        (CPUCallConv, "get_function_type", ["self", "restype", "argtypes"]),
        (CPUCallConv, "decode_arguments", ["self", "builder", "argtypes", "func"]),
        (CPUCallConv, "return_value", ["self", "builder", "retval"]),
        (CPUCallConv, "get_arguments", ["self", "func"]),
        (base, "_wrap_impl", ["imp", "context", "sig"]),
        (base.BaseContext, "get_function", ["self", "fn", "sig", "_firstcall"]),
        (base.BaseContext, "refresh", ["self"]),
        (base.BaseContext, "get_abi_sizeof", ["self", "ty"]),
        (Context, "_resolve_user_function_type", ["self", "func", "args", "kws", "literals"]),
        (Context, "_lookup_global", ["self", "gv"]),
        (CallStack, "register", ["self", "target", "typeinfer", "func_id", "args"]),
        (PreLowerStripPhis, "_strip_phi_nodes", ["self", "func_ir"]),
        (ReconstructSSA, "_patch_locals", ["self", "state"]),
        (ir_utils, "build_definitions", ["blocks", "definitions"]),
        (postproc, "VariableLifetime", ["blocks"]),
        (type(rewrite_registry), "apply", ["self", "kind", "state"]),
        (PassManager, "_runPass", ["self", "index", "pss", "internal_state"]),
        (CompileResult, "_rebuild", None),
        (CPUDispatcher, "compile", ["self", "sig"]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else value if isinstance(value, str) else "",
)
def test_private_names_of_numba(owner, name, parameters):
    found = getattr(owner, name, None)
    assert found is not None, LOOK
    if parameters is not None:
        inner = inspect.unwrap(found)
        assert list(inspect.signature(inner).parameters) == parameters, LOOK


def test_private_fields_of_numba():
    codegen = cpu_target.target_context.codegen()
    library = codegen.create_library("test_private_fields")
    for owner, name in (
        (codegen, "_tm"),
        (library, "_codegen"),
        (library, "_final_module"),
        (library, "_linking_libraries"),
        (library, "_finalized"),
    ):
        assert hasattr(owner, name), f"{type(owner).__name__}.{name}: {LOOK}"
    assert hasattr(type(library), "has_dynamic_globals"), LOOK
    assert len(codegen._module_pass_manager()) == 2, LOOK


def test_passes_that_are_left_out_are_passes_of_numba():
    """A pass that numba has renamed would quietly run again."""
    from numba.core.compiler import DefaultPassBuilder

    class State:
        func_ir = None
        flags = type(
            "Flags",
            (),
            {"no_rewrites": False, "enable_ssa": True, "auto_parallel": type("Off", (), {"enabled": False})},
        )
        reload_init: ClassVar[list[object]] = []

    passes = {each._name for each, _ in DefaultPassBuilder.define_nopython_pipeline(State()).passes}
    assert passes >= whole_program._UNUSED | whole_program._FOR_CLOSURES, LOOK
