"""The cart with its pole and the arm of two links are found from their videos."""

from pathlib import Path

import pytest

from diffloom_experiments import build_experiment, load_file
from diffloom_fitting.fits import run_fit

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cartpole", "arm"])
def test_masses_and_damping_are_found_from_pixels(name):
    result = run_fit(build_experiment(load_file(EXAMPLES / f"{name}.toml", changes={"seed": 1})), sure=False)
    assert result.start_loss > 1e-4
    for estimate in result.estimates:
        assert estimate.error < 1e-3, estimate
