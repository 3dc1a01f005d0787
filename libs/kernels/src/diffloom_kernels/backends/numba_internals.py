"""Private names of numba that compilation uses, imported here and nowhere else.

Names that numba documents for extensions (types, typing templates, data models, ``cgutils``) are imported where they
are used. The names below may change in any release. ``numba_mode`` imports the modules that depend on them if the
release was tried; the plain mode never does. ``libs/kernels/tests/test_whole_program.py`` lists the checks before a
release is added.
"""

from __future__ import annotations

from numba import _dispatcher as dispatcher
from numba.core import itanium_mangler
from numba.core.base import _wrap_impl as wrap_impl
from numba.core.callconv import CPUCallConv
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags, _LowerResult as LowerResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.errors import new_error_context  # type: ignore[attr-defined]
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.imputils import user_function
from numba.core.ir_utils import build_definitions
from numba.core.lowering import Lower
from numba.core.postproc import VariableLifetime
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.rewrites import rewrite_registry
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.ssa import reconstruct_ssa
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering, PreLowerStripPhis
from numba.core.typeinfer import TypeInferer
from numba.core.typing.context import CallStack, Context
from numba.core.untyped_passes import GenericRewrites, IRProcessing, ReconstructSSA

__all__ = [
    "CPUCallConv", "CPUCodeLibrary", "CPUContext", "CPUDispatcher", "CallStack", "CompileResult", "Compiler",
    "Context", "Flags", "GenericRewrites", "IRProcessing", "JITCodeLibrary", "Lower", "LowerResult", "LoweringPass",
    "NativeLowering", "PassManager", "PreLowerStripPhis", "PyCallWrapper", "PythonFunctionDescriptor",
    "ReconstructSSA", "TypeInferer", "VariableLifetime", "build_definitions", "canonicalize_cfg", "cpu_target",
    "dispatcher", "dumps", "global_compiler_lock", "itanium_mangler", "new_error_context", "normalize_signature",
    "reconstruct_ssa", "register_pass", "rewrite_registry", "user_function", "wrap_impl",
]  # fmt: skip
