"""Hashes of device functions see everything compiled code depends on, and nothing else."""

import numpy as np

from diffloom.kernels import device
from diffloom.kernels.compile.fingerprint import fingerprint


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
