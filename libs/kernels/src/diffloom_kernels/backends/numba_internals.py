"""Every private part of numba that kernels are compiled with, imported here and nowhere else.

What is documented for extensions (types, typing templates, data models, ``cgutils``) is imported where it is used. The
names below may change in any release, so packages allow those in ``TRIED_NUMBA`` alone, and another one is met with a
warning, or with an error that says what to do where a name is gone.
``libs/kernels/tests/test_whole_program.py`` says what to look at before a release is added.
"""

from __future__ import annotations

import warnings

import numba

#: Releases of numba that kernels were tried with.
TRIED_NUMBA = ("0.68",)


def tried(version: str = numba.__version__) -> bool:
    """Whether kernels were tried with this release of numba."""
    return version.rsplit(".", 1)[0] in TRIED_NUMBA


def remedy() -> str:
    """What to do where another release does not do."""
    return f"pip install 'numba=={TRIED_NUMBA[-1]}.*'"


try:
    from numba import _dispatcher as dispatcher
    from numba.core import base, event, ir, itanium_mangler, transforms
    from numba.core.base import BaseContext as LoweringContext
    from numba.core.callconv import CPUCallConv
    from numba.core.callwrapper import PyCallWrapper
    from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary
    from numba.core.compiler import Compiler, CompileResult, _LowerResult as LowerResult
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
    from numba.core.cpu import CPUContext
    from numba.core.errors import new_error_context  # type: ignore[attr-defined]
    from numba.core.funcdesc import PythonFunctionDescriptor
    from numba.core.imputils import user_function
    from numba.core.lowering import Lower
    from numba.core.postproc import PostProcessor, VariableLifetime
    from numba.core.registry import CPUDispatcher, cpu_target
    from numba.core.serialize import dumps
    from numba.core.targetconfig import TargetConfig
    from numba.core.typed_passes import NativeLowering
    from numba.core.typeinfer import TypeInferer
    from numba.core.types.functions import BaseFunction, Dispatcher, Function
    from numba.core.types.misc import unliteral
    from numba.core.typing.context import BaseContext as TypingContext, Context
except ImportError as error:
    raise ImportError(
        f"numba {numba.__version__} lacks what kernels are compiled with ({error}); they were tried with "
        f"{', '.join(TRIED_NUMBA)}: {remedy()}"
    ) from error

if not tried():
    warnings.warn(
        f"kernels were tried with numba {', '.join(TRIED_NUMBA)}, and this is {numba.__version__}. If compiling fails: "
        f"{remedy()}",
        RuntimeWarning,
        stacklevel=2,
    )

__all__ = [
    "TRIED_NUMBA",
    "BaseFunction",
    "CPUCallConv",
    "CPUCodeLibrary",
    "CPUContext",
    "CPUDispatcher",
    "CompileResult",
    "Compiler",
    "Context",
    "Dispatcher",
    "Function",
    "JITCodeLibrary",
    "Lower",
    "LowerResult",
    "LoweringContext",
    "LoweringPass",
    "NativeLowering",
    "PassManager",
    "PostProcessor",
    "PyCallWrapper",
    "PythonFunctionDescriptor",
    "TargetConfig",
    "TypeInferer",
    "TypingContext",
    "VariableLifetime",
    "base",
    "cpu_target",
    "dispatcher",
    "dumps",
    "event",
    "global_compiler_lock",
    "ir",
    "itanium_mangler",
    "new_error_context",
    "register_pass",
    "remedy",
    "transforms",
    "tried",
    "unliteral",
    "user_function",
]
