"""Parameters: declared once, checked at the door."""

from __future__ import annotations

import pytest
import torch

from diffloom.interfaces import Control, InputError, ParamSpec
from diffloom.interfaces.params import make_params

SPECS = (
    ParamSpec("mass", 1.0, "kg", "mass of each particle", ("particles",), (0.0, None)),
    ParamSpec("velocity", (0.0, 0.0, 0.0), "m/s", "at the start", ("particles", 3)),
    ParamSpec("density", None, "kg/m^3", "instead of mass", (), (0.0, None)),
    ParamSpec("ratio", 0.3, "", "between bounds", (), (0.0, 0.5)),
)
AXES = {"particles": 4}


def params(dtype=torch.float32, **values):
    return make_params("Toy", SPECS, AXES, values, dtype)


def test_defaults_and_optional_ones():
    found = params()
    assert set(found) == {"mass", "velocity", "ratio"}
    assert found["velocity"].shape == (3,)
    with pytest.raises(KeyError, match="density"):
        found["density"]


@pytest.mark.parametrize("value", [2.0, [1.0, 2.0, 3.0, 4.0], torch.ones(1), torch.ones(4)])
def test_shapes_that_broadcast(value):
    assert params(mass=value)["mass"].dtype == torch.float32


def test_gradients_survive():
    leaf = torch.tensor(2.0, requires_grad=True)
    assert params(mass=leaf)["mass"] is leaf


@pytest.mark.parametrize(
    "values, said",
    [
        ({"mas": 1.0}, "did you mean 'mass'"),
        ({"mass": [1.0, 2.0]}, r"got shape \(2,\); expected \(particles\) = \(4,\)"),
        ({"mass": -1.0}, r"'mass' \[kg\]: got -1; expected at least 0"),
        ({"ratio": 0.7}, "at most 0.5"),
        ({"mass": float("nan")}, "finite"),
        ({"mass": "heavy"}, "expected a number"),
        ({"mass": torch.ones(4, dtype=torch.float64)}, "never changed silently"),
        ({"mass": torch.ones(4, dtype=torch.int64)}, "float32 or float64"),
    ],
)
def test_bad_values(values, said):
    with pytest.raises(InputError, match=said):
        params(**values)


def test_conversion_and_replacement():
    found = params(mass=2.0).to(torch.float64).replace(ratio=torch.tensor(0.1, dtype=torch.float64))
    assert found.dtype == torch.float64
    assert float(found["ratio"]) == pytest.approx(0.1)
    assert "mass=2" in repr(found)


def test_controls_have_a_row_per_step():
    control = Control({"activation": torch.zeros(5, 2)})
    assert control.check_steps(5) is control
    with pytest.raises(InputError, match="one row per step"):
        control.check_steps(6)
