"""Hashes of device functions see everything compiled code depends on, and nothing else."""

from pathlib import Path

import numpy as np

from diffloom_kernels import device
from diffloom_kernels.compile import fingerprint as fingerprints
from diffloom_kernels.compile.fingerprint import fingerprint


def made(source: str, **names: object) -> str:
    """Hash of function f of the source."""
    namespace = {"device": device, **names}
    exec(source, namespace)
    return fingerprint({"f": namespace["f"]})


PLAIN = "@device\ndef f(x):\n    return x + 1\n"
CALLING = "@device\ndef g(x):\n    return x + {}\n@device\ndef f(x):\n    return g(x)\n"
CONSTANT = "@device\ndef f(x):\n    return x + C\n"


def test_same_code_same_hash():
    assert made(PLAIN) == made("# words\n" + PLAIN)


def test_every_dependence_counts():
    hashes = [
        made(PLAIN),
        made(PLAIN.replace("1", "2")),
        made(CALLING.format(1)),
        made(CALLING.format(2)),
        made(CONSTANT, C=1),
        made(CONSTANT, C=1.0),
        made(CONSTANT, C=2),
        made(CONSTANT, C=(1, 2)),
        made(CONSTANT, C=np.array([1.0])),
        made(CONSTANT, C=np.array([2.0])),
        made(CONSTANT, C=np.float32),
        made(CONSTANT, C=np.float64),
    ]
    assert len(set(hashes)) == len(hashes)


def test_code_for_cuda_depends_on_its_compiler(monkeypatch):
    """Two compilers keep code under the names of generated files, and must not share it."""
    monkeypatch.setattr(fingerprints, "choose_compiler", lambda: compiler)
    found = {}
    for target, compiler in (("cpu", "none"), ("cuda", "numba-cuda"), ("cuda", "numba-cuda-mlir"), ("cuda", None)):
        fingerprints.environment.cache_clear()
        found[compiler] = fingerprints.environment(target)
    fingerprints.environment.cache_clear()
    assert found["none"] == found[None]
    assert len(set(found.values())) == 3
    stems = {path.stem for path in Path(fingerprints.__file__).parents[1].rglob("*.py")}
    assert {*fingerprints._HOST_ONLY, *fingerprints._SHAPES_CUDA} <= stems
