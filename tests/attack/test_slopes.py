"""The comparison of slopes: it tells kinks, jumps and rounding from a wrong derivative."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from slopes import compare_slope, measure_rounding

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("function", "derivative", "outcome"),
    [
        (math.sin, 1.0, "agrees"),
        (math.sin, 1.0 + 1e-4, "wrong"),
        (lambda t: math.exp(30.0 * t), 30.0, "agrees"),
        (lambda t: t + 5.0 * max(t - 3e-6, 0.0), 1.0, "agrees"),  # a kink nearby: shorter differences miss it
        (lambda t: t + 5.0 * max(t - 3e-6, 0.0), 6.0, "wrong"),
        (lambda t: t + 1e-6 * (t > 2e-5) + 1e-6 * (t > -2e-5), 1.0, "agrees"),  # jumps of both sides cancel
        (lambda t: t + abs(t), 0.3, "kink"),
        (lambda t: t + abs(t), 2.5, "wrong"),  # beyond both sides
        (lambda t: t + float(t > 1e-9), 1.0, "kink"),
        (lambda t: t + float(t > 1e-9), 0.9, "wrong"),
        (lambda t: 0.5, 0.0, "flat"),
        (lambda t: 0.5, 1e-3, "wrong"),
        (lambda t: 1e14 + t, 1.0, "unresolved"),
    ],
)
def test_outcomes(function, derivative, outcome):
    middle = function(0.0)
    found = compare_slope(function, derivative, 1.0, 1e-5, middle, measure_rounding(function, middle))
    assert found.outcome == outcome, found


@pytest.mark.slow
def test_an_audit_goes_on_where_it_stopped(tmp_path):
    file = tmp_path / "audit.jsonl"
    command = [sys.executable, str(HERE / "gradient_audit.py"), str(file), "--only", "smoke custom_step  coverage"]
    first = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    assert "'agrees': 4" in first.stdout
    assert "left out: smoke, rk4" in first.stdout
    again = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    assert "agrees" not in again.stdout
    assert len(file.read_text().splitlines()) == 1
    told = subprocess.run([*command, "--summary"], capture_output=True, text=True, timeout=500, check=True)
    assert "| smoke | 1 | 4 | 0 | 0 | 0 | 0 | 0 | 0 |" in told.stdout
