"""Choice of the compiler of CUDA kernels, and translation for numba-cuda-mlir."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from diffloom_kernels.backends import cuda_compilers
from diffloom_kernels.backends.cuda_compilers import cuda_module
from diffloom_kernels.backends.ptx import pretend_device, to_ptx


def only(monkeypatch, *packages):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        cuda_compilers.importlib.util,
        "find_spec",
        lambda name: (name in packages or None) if name.startswith("numba_cuda") else found(name),
    )


def test_the_successor_is_preferred(monkeypatch):
    monkeypatch.delenv("DIFFLOOM_CUDA_COMPILER", raising=False)
    only(monkeypatch, "numba_cuda", "numba_cuda_mlir")
    assert cuda_compilers.list_installed() == ("numba-cuda-mlir", "numba-cuda")
    assert cuda_compilers.choose_compiler() == "numba-cuda-mlir"
    only(monkeypatch, "numba_cuda")
    assert cuda_compilers.choose_compiler() == "numba-cuda"
    only(monkeypatch)
    assert cuda_compilers.choose_compiler() is None


def test_one_can_be_named(monkeypatch):
    only(monkeypatch, "numba_cuda", "numba_cuda_mlir")
    monkeypatch.setenv("DIFFLOOM_CUDA_COMPILER", "numba-cuda")
    assert cuda_compilers.choose_compiler() == "numba-cuda"
    monkeypatch.setenv("DIFFLOOM_CUDA_COMPILER", "nvcc")
    with pytest.raises(ValueError, match=r"'nvcc'; expected numba-cuda-mlir or numba-cuda"):
        cuda_compilers.choose_compiler()
    only(monkeypatch, "numba_cuda_mlir")
    monkeypatch.setenv("DIFFLOOM_CUDA_COMPILER", "numba-cuda")
    with pytest.raises(RuntimeError, match="pip install numba-cuda"):
        cuda_compilers.choose_compiler()


def test_device_functions_are_translated():
    pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")
    from diffloom_kernels import add3, cross3
    from diffloom_kernels.backends import mlir_functions

    again = mlir_functions.translate_value(cross3)
    assert again is mlir_functions.translate_value(cross3)
    assert again is not cross3
    assert again.py_func.__code__ is cross3.py_func.__code__
    assert again.py_func.__globals__["add3"] is mlir_functions.translate_value(add3)


def test_answers_of_rules_are_made_once_and_as_source():
    pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")
    from diffloom_kernels.backends import mlir_functions, mlir_patches

    made = mlir_functions.device_function(lambda x: x)
    kind = (mlir_functions.mlir_types.float32,)
    with pretend_device((8, 0)):
        first = made.compile(kind, abi_info={"abi_name": "itself"})
        assert made.compile(kind, abi_info={"abi_name": "itself"}) is first
    assert "cubin" not in first.metadata
    assert "itself" in mlir_patches.mlir_lowering.get_mlir_module_str(first.metadata)


MANY = 70  # Python hands over more than 30 arguments as a tuple


def test_calls_with_many_arguments_compile(monkeypatch):
    pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")
    monkeypatch.setenv("DIFFLOOM_CUDA_COMPILER", "numba-cuda-mlir")
    from diffloom_kernels.backends import mlir_functions

    names = ", ".join(f"a{k}" for k in range(MANY))
    scope = {}
    exec(f"def last({names}): return a{MANY - 1}", scope)
    last = scope["last"] = mlir_functions.device_function(scope["last"])
    exec(f"def kernel(x): x[0] = last({', '.join(f'x[{k}]' for k in range(MANY))})", scope)
    assert last.targetoptions["device"]
    text = to_ptx(cuda_module().jit(scope["kernel"]), (np.zeros(MANY, np.float32),), (8, 0))
    assert text.count("ld.global") == 1, "only the last is read"
    assert text.count("st.global") == 1


def test_the_entry_of_a_tuple_of_one_is_taken_for_it():
    """Calls of joints with one coordinate return tuples of length one."""
    pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")
    from diffloom_kernels.backends import mlir_patches

    class Model:
        from_data = staticmethod(lambda builder, value: tuple(value))
        from_return = mlir_patches.models.UniTupleModel.from_return

    assert Model().from_return(None, 3.0) == (3.0,)
    assert Model().from_return(None, (3.0, 4.0)) == (3.0, 4.0)


MODULE = """
gpu.module @kernels {
  llvm.func @called() { llvm.return }
  llvm.func @uncalled() { llvm.call @deep() : () -> ()  llvm.return }
  llvm.func @deep() { llvm.return }
  llvm.func @kernel(%x: f32) attributes {gpu.kernel, numba_cuda_mlir.orig_arg_types = [f32]} {
    llvm.call @called() : () -> ()
    llvm.br ^later
  ^later:
    %one = llvm.mlir.constant(1 : i64) : i64
    %place = llvm.alloca %one x f32 : (i64) -> !llvm.ptr
    llvm.store %x, %place : f32, !llvm.ptr
    llvm.return
  }
}
"""


def test_memory_is_allocated_at_the_start_and_what_nobody_calls_is_dropped():
    pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")
    from numba_cuda_mlir.lowering_utilities import context

    from diffloom_kernels.backends import mlir_modules as modules

    with context.get_context():
        module = modules.ir.Module.parse(MODULE)
        modules.finish(module)
        assert module.operation.verify()
        start, _, later = str(module).partition("llvm.br")
    assert "llvm.alloca" in start
    assert "llvm.store" in later
    assert "@called" in start
    assert "@uncalled" not in start
    assert "@deep" not in start


def test_variables_leave_their_memory_first():
    pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")
    from numba_cuda_mlir import mlir_optimization

    from diffloom_kernels.backends import mlir_functions

    assert mlir_functions.mlir_patches.apply.cache_info().currsize == 1
    passes = mlir_optimization.get_base_pipeline()
    assert 0 < passes.index("mem2reg") < passes.index("canonicalize")


@pytest.mark.parametrize("dense", [True, False])
def test_dense_arrays_are_read_without_asking_how_they_lie(dense, monkeypatch):
    pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")
    monkeypatch.setenv("DIFFLOOM_CUDA_COMPILER", "numba-cuda-mlir")
    from diffloom_kernels.backends import mlir_functions  # with its patches

    assert mlir_functions.mlir_patches.apply.cache_info().currsize == 1
    scope = {}
    exec("def kernel(x, n): x[n, n] = x[n, 0]", scope)
    x = np.zeros((4, 6), np.float32)
    text = to_ptx(cuda_module().jit(scope["kernel"]), (x if dense else x[:, ::2], np.int64(4)), (8, 0))
    # An array descriptor has two pointers, an offset, two lengths, two strides.
    read = {name: f"_param_{k}]" in text for name, k in {"offset": 2, "rows": 5, "columns": 6}.items()}
    assert read == {"offset": not dense, "rows": True, "columns": not dense}
