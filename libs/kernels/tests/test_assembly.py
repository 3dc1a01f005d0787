"""Assembly of a lane loop: packed arithmetic, no reference counts, no hidden float64."""

import platform
import re

import numpy as np
import pytest

from diffloom_kernels import Program, device, launch_lanes, ld3, length3, mul3, neg3, store_corners, sub3, where

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")


@device
def spring(e, x, nodes, params, slots):
    R = x.dtype.type
    d = sub3(ld3(x, nodes[e, 1]), ld3(x, nodes[e, 0]))
    length = length3(d)
    f = mul3(d, params[0][e] * (length - params[1][e]) / where(length > R(0), length, R(1)))
    store_corners(slots, e, (f, neg3(f)))


def forces(steps, X, nodes, params, slots):
    for j in range(steps):
        launch_lanes(nodes.shape[0], spring, X[j], nodes, params, slots)


program = Program("test_assembly", (forces,))


@pytest.mark.parametrize(("real", "suffix"), [(np.float32, "ps"), (np.float64, "pd")])
def test_loops_are_vector_code(real, suffix):
    X = np.zeros((2, 5, 4), real)
    nodes = np.zeros((16, 2), np.int32)
    text = program.assembly("forces", 1, X, nodes, (np.zeros(16, real), np.zeros(16, real)), np.zeros((16, 2, 4), real))
    loop = vector_loop(text, suffix)
    packed = re.findall(rf"\bv?(?:mul|add|sub|div|fn?m(?:add|sub)\d*){suffix}\b", loop)
    assert len(packed) >= 12  # the arithmetic of the body, each operation once
    assert "call" not in loop
    assert "NRT_incref" not in text
    assert re.search(r"and[lq]\s+\$-32, %[re]sp", text)  # registers kept on the stack lie in one line of the cache
    if real is np.float32:
        assert not re.findall(r"\bv?cvt(?:ss2sd|ps2pd)\b", text)


def vector_loop(text: str, suffix: str) -> str:
    """The lines between a label and the jump back to it that hold the most packed instructions."""
    labels: dict[str, int] = {}
    loops = [""]
    lines = text.splitlines()
    for k, line in enumerate(lines):
        if found := re.match(r"^(\.L\w+):", line):
            labels[found[1]] = k
        elif (found := re.match(r"^\s+j\w+\s+(\.L\w+)", line)) and found[1] in labels:
            loops.append("\n".join(lines[labels[found[1]] : k]))
    innermost = [loop for loop in loops if len(re.findall(r"^\.L\w+:", loop, re.MULTILINE)) == 1]
    return max(innermost, key=lambda loop: len(re.findall(rf"{suffix}\b", loop)))
