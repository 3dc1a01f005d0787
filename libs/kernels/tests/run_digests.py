"""A plugin for pytest that keeps hashes of the arrays after every run of a program: see test_plain_numba.py."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from diffloom_kernels import Program
from diffloom_kernels.compile import arguments

_found: dict[str, list[str]] = {}


@pytest.fixture(autouse=True)
def keep_digests(request, monkeypatch):
    """Note what each run leaves in its arrays."""
    kept = _found.setdefault(request.node.name, [])
    plain_run = Program.run

    def run(self, pipeline, *args, **named):
        answer = plain_run(self, pipeline, *args, **named)
        arrays: list[np.ndarray] = []
        arguments.as_host(
            [value.record if type(value) is arguments.BoundRecord else value for value in args], arrays, []
        )
        digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays))
        kept.append(f"{self.name}.{pipeline} {digest.hexdigest()[:16]}")
        return answer

    monkeypatch.setattr(Program, "run", run)


def pytest_sessionfinish():
    """Write them to the file that the environment names."""
    Path(os.environ["DIFFLOOM_TEST_DIGESTS"]).write_text(json.dumps(_found))
