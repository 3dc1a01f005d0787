"""Display of a fit while it runs."""

import io

import numpy as np
import pytest
from rich.console import Console
from toy_scenes import TRUTH, toy_scene

from diffloom_fitting import Experiment, Unknown, run_fit
from diffloom_fitting.targets import synthesise
from diffloom_studio.console import make_watcher
from diffloom_studio.terminal_images import draw_curve, draw_half_blocks, shrink


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


def run_in(height, **settings):
    """Return the text of a fit in a console of this height."""
    scene = toy_scene()
    experiment = Experiment(scene, synthesise(scene, TRUTH), [Unknown("gravity", 9.0), Unknown("drag", 0.4)])
    seen = io.StringIO()
    console = Console(file=seen, width=120, height=height, legacy_windows=False, **settings)
    with make_watcher(experiment, console) as shown:
        run_fit(experiment, observer=shown.show, sure=False)
    return seen.getvalue()


def test_a_large_terminal_shows_the_curve_and_the_images():
    text = run_in(60, force_terminal=True, color_system="truecolor")
    assert "▀" in text and "\x1b[38;2;" in text
    assert "video" in text and "fit" in text
    assert "█" in text and "left" in text


def test_a_small_or_plain_terminal_shows_no_images():
    for height, colours in ((24, "truecolor"), (60, "standard"), (60, None)):
        text = run_in(height, force_terminal=True, color_system=colours)
        assert "▀" not in text
        assert "█" in text
    plain = run_in(60, force_terminal=False)
    assert not set("▀█▁") & set(plain)
    assert "\x1b[" not in plain


def test_the_curve_falls_from_its_first_to_its_last_loss():
    lines = draw_curve([1.0, 0.1, float("nan"), 0.01, 1e-3], lines=2).plain.splitlines()
    assert lines == ["█▃    1.0e+00", "██▆▁  1.0e-03"]
    assert draw_curve([1.0]).plain == ""
    assert len(draw_curve([1.0 / k for k in range(1, 500)], width=40, lines=1).plain.split()[0]) <= 40


def test_half_blocks_hold_two_pixels():
    image = np.zeros((4, 3, 3), dtype=np.uint8)
    image[1, 2] = (10, 20, 30)
    text = draw_half_blocks(image)
    assert text.plain == "▀▀▀\n▀▀▀\n"
    assert text.spans[2].style.bgcolor.triplet == (10, 20, 30)
    strip = shrink(np.ones((2, 32, 64, 3)), 16)
    assert strip.shape == (16, 64, 3)
    assert int(strip.min()) == 255
