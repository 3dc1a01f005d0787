"""Display of a fit while it runs."""

import io

import pytest
from rich.console import Console
from toy_scenes import TRUTH, toy_scene

from diffloom_fitting import Experiment, Unknown, run_fit
from diffloom_fitting.targets import synthesise
from diffloom_studio.console import make_watcher


@pytest.mark.parametrize("terminal", [True, False])
def test_a_table_in_a_terminal_and_lines_elsewhere(terminal):
    scene = toy_scene()
    unknowns = [Unknown("gravity", 9.0), Unknown("drag", 0.4)]
    experiment = Experiment(scene, synthesise(scene, TRUTH), unknowns)
    seen = io.StringIO()
    console = Console(file=seen, force_terminal=terminal, width=100, legacy_windows=False)
    with make_watcher(experiment, console) as shown:
        result = run_fit(experiment, observer=shown.show, sure=False)
    text = seen.getvalue()
    assert "gravity" in text
    assert ("\x1b[" in text) == terminal
    if terminal:
        # Redrawn in place at the end of the bar, with the unit and the last iteration's value.
        assert "m/s^2" in text
        assert "fitted" in text
        assert f"{result.iterations}/{result.iterations}" in text
        assert "5.999" in text or "6.000" in text or " 6 " in text
    else:
        first, *_, last = text.strip().splitlines()
        assert first.startswith("stage 1/1 GaussNewton 0: loss")
        assert "gravity 9" in first
        assert "gravity 6" in last or "gravity 5.99" in last
