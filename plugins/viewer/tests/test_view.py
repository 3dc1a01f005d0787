"""The page shows a fit, in a browser where Chromium is installed, and its sliders simulate anew."""

import numpy as np
import pytest
import torch
from browser import CHROMIUM, Browser
from click.testing import CliRunner

from diffloom_viewer.command import view
from diffloom_viewer.drawing import COLOURS, find_recorders, to_linear
from diffloom_viewer.what_if import apply_settings, knobs


@pytest.fixture
def window(playback):
    pytest.importorskip("viser", reason="viser is not installed")
    from diffloom_viewer import ViewerWindow

    opened = ViewerWindow(playback, port=18080, frames=11)
    yield opened
    opened.close()


def test_sliders_begin_at_the_fit_and_reach_around_every_value(playback):
    found = knobs(playback.experiment, playback.values, "fit")
    assert found
    for knob in found:
        known = [float(playback.values[name][knob.name].flatten()[knob.index]) for name in playback.values]
        assert knob.low < min(known) <= max(known) < knob.high
        assert knob.value == pytest.approx(float(playback.values["fit"][knob.name].flatten()[knob.index]))
        assert (knob.high - knob.low) / knob.step >= 200
    changed = apply_settings(playback.values["fit"], {(found[0].name, found[0].index): 3.5})
    assert float(changed[found[0].name].flatten()[found[0].index]) == pytest.approx(3.5)
    assert float(playback.values["fit"][found[0].name].flatten()[found[0].index]) != 3.5


def test_a_camera_track_has_the_recorded_frames(playback):
    """A point that the scene's camera projects to a pixel lies there for the viewer's camera too."""
    (one,) = find_recorders(playback)
    camera = playback.experiment.scene.viewpoint.camera.camera(torch.float64)
    point = np.array([0.2, 0.3, -0.1])
    along = one.rotation[0].T @ (point - one.eye[0])
    seen = camera.rotation.numpy() @ (point - camera.eye.numpy())
    assert along == pytest.approx(seen * np.array([1.0, -1.0, -1.0]))
    assert np.linalg.det(one.rotation[0]) == pytest.approx(1.0)
    assert one.images.shape[0] == len(one.times)
    assert one.at(float(one.times[3]) + 1e-4) == 3


def test_colours_of_a_screen_become_amounts_of_light():
    found = to_linear(np.array([[0, 10, 128], [188, 255, 255]], dtype=np.uint8))
    assert found.tolist() == [[0, 1, 55], [128, 255, 255]]  # 188 on a screen is half of the light


def test_turning_a_slider_simulates_anew(window):
    assert list(window.bodies) == ["start", "fit", "truth"]
    place, slider = next(iter(window.knobs.items()))
    slider.value = slider.max
    window.simulate()
    yours, fit = window.bodies["yours"], window.bodies["fit"]
    assert place[0] in yours.params or place[0].startswith("camera")
    assert np.abs(yours.vertices[-1] - fit.vertices[-1]).max() > 0.05
    np.testing.assert_array_equal(yours.faces, fit.faces)


def test_what_if_tells_the_loss_and_shows_the_image_beside_the_videos(window):
    known = float(window.what_if.loss.value)
    window.simulate()
    assert float(window.what_if.loss.value.split(" (")[0]) == pytest.approx(known, rel=0.2, abs=1e-6)
    window.slider.value = 5  # in the middle of the motion
    slider = next(iter(window.knobs.values()))
    slider.value = slider.max
    window.simulate()
    changed, _, rest = window.what_if.loss.value.partition(" (fit: ")
    assert float(changed) > 10.0 * known
    assert float(rest.rstrip(")")) == known
    picture = window.what_if.picture
    assert picture.visible
    half = picture.image.shape[1] // 2
    assert np.abs(picture.image[:, :half].astype(float) - picture.image[:, half:]).max() > 30.0
    window.go_back()
    assert "yours" not in window.bodies
    assert not picture.visible
    assert float(window.what_if.loss.value) == known
    window.simulate()
    assert np.abs(window.bodies["yours"].vertices - window.bodies["fit"].vertices).max() < 0.05


def test_the_legend_has_the_colours_of_the_bodies(window):
    for name, colour in COLOURS.items():
        assert f"rgb({','.join(map(str, colour))})" in window.legend.content
        assert name in window.legend.content
    assert not [label for _, label in window.knobs if str(label).endswith(" 0")]


def test_speed_of_play(window):
    for speed in ("2", "1/8"):
        window.speed.value, window.play.value = speed, True
        until(lambda: window.slider.value > 0)
        window.play.value = False
        until(lambda: not window._playing)
        window.slider.value = 0


def test_every_choice_is_drawn(window):
    window.slider.value = 5
    for layout in window.layout.options:
        for colour in window.colouring.options:
            window.layout.value, window.colouring.value, window.forces.value = layout, colour, True
            window.redraw()
    assert window.colouring.options == ("by body", "appearance", "strain", "stress")
    assert window.scale.visible
    assert window.bar.visible
    assert window.scale.value.startswith("from 0 to ")
    assert window.scale.value.endswith(" kPa and above")
    assert window.largest.value == "none"
    window.colouring.value = "by body"
    window.redraw()
    assert not window.scale.visible
    assert window.time == pytest.approx(0.5 * float(window._times[-1]))
    assert window.clock_text.value.startswith(f"{window.time:.4g}")


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_clicking_through_the_page(window):
    with Browser() as browser:
        page = browser.open(window.address, 1200, 800)
        page.wait("document.querySelectorAll('[role=slider]').length >= 2")
        page.wait("document.querySelector('canvas') !== null")
        # The first slider is the time's: three frames on, as the keyboard moves it.
        page.ask("document.querySelector('[role=slider]').focus()")
        for _ in range(3):
            page.press("ArrowRight")
        until(lambda: window.slider.value == 3)
        until(lambda: window.clock_text.value == f"{window.time:.4g} s")
        # The second is the first unknown's.
        page.ask("document.querySelectorAll('[role=slider]')[1].focus()")
        page.press("End")
        until(lambda: "yours" in window.bodies)
        label = "[...document.querySelectorAll('label')].find(l => l.textContent.includes('contact forces')).htmlFor"
        page.ask(f"document.getElementById({label}).click()")
        until(lambda: window.forces.value)
        # Colours are a list that opens.
        page.ask("[...document.querySelectorAll('input')].find(i => i.value === 'by body').click()")
        page.wait("[...document.querySelectorAll('[role=option]')].some(o => o.textContent === 'stress')")
        page.ask("[...document.querySelectorAll('[role=option]')].find(o => o.textContent === 'stress').click()")
        until(lambda: window.colouring.value == "stress" and window.scale.visible)
        page.wait("[...document.querySelectorAll('input')].some(i => i.value.startsWith('from 0 to'))")
        # The sliders go back to the fit.
        page.ask("[...document.querySelectorAll('button')].find(b => b.textContent.includes('back to fit')).click()")
        until(lambda: "yours" not in window.bodies)
        assert page.faults() == []
        # A phone: the panel neither covers the whole scene nor is wider than the window.
        phone = browser.open(window.address, 390, 844)
        phone.wait(
            "document.querySelectorAll('[role=slider]').length >= 2 || document.querySelector('canvas') !== null"
        )
        assert phone.ask("document.documentElement.scrollWidth") <= 390
        assert phone.faults() == []


def until(done, seconds=30.0):
    import time

    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "the page did not answer"
        time.sleep(0.05)


def test_a_fit_is_shown_while_it_runs(playback):
    pytest.importorskip("viser", reason="viser is not installed")
    from diffloom_fitting import run_fit
    from diffloom_viewer import LiveView

    live = LiveView(playback.experiment, port=18090, frames=5)
    begin = live.window.bodies["fit"].vertices.copy()
    seen = []

    def observe(state, record):
        live.observe(state, record)
        seen.append(live.window.bodies["fit"].vertices.copy())

    run_fit(playback.experiment, observer=observe, sure=False)
    truth = live.window.bodies["truth"].vertices
    live.window.close()
    assert np.abs(begin - truth).max() > 0.1
    assert np.abs(seen[-1] - truth).max() < 1e-2


def test_run_shows_the_fit_and_then_waits(playback, toy_registry, monkeypatch):
    pytest.importorskip("viser", reason="viser is not installed")
    from diffloom_viewer import plugin

    toy_registry.install(plugin, "viewer")
    from diffloom_studio.commands.run import run
    from diffloom_viewer import LiveView

    waited = []

    def wait(live):
        waited.append(live.window.bodies["fit"].vertices[-1] - live.window.bodies["truth"].vertices[-1])
        live.window.close()

    monkeypatch.setattr(LiveView, "wait", wait)
    done = CliRunner().invoke(run, ["toy.toml", "--out", "watched", "--no-report", "--view"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "the viewer stays open at http://127.0.0.1:" in done.output
    (left,) = waited
    assert np.abs(left).max() < 1e-2


def test_a_recording_for_rerun(playback, tmp_path):
    pytest.importorskip("rerun", reason="rerun-sdk is not installed")
    done = CliRunner().invoke(view, ["out", "--rerun", str(tmp_path / "fit.rrd"), "--frames", "4"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "fit.rrd").read_bytes()[:3] == b"RRF"


def test_without_the_library_the_error_says_how_to_install_it(playback, monkeypatch):
    import sys

    from diffloom.interfaces import InputError
    from diffloom_viewer import ViewerWindow

    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match=r"diffloom\[viewer\]"):
        ViewerWindow(playback)
