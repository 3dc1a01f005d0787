"""Commands `measure` and `audit` on a drawn clip of a thrown disc."""

import numpy as np
import pytest
from click.testing import CliRunner

from diffloom.cli.group import diffloom
from diffloom_studio import write_video

RATE, SIZE, FRAMES = 30, 96, 24
GRAVITY, RADIUS = 240.0, 5.0  # [px/s^2], [px]


def draw_throw():
    """Return frames of a dark disc that is thrown over a bright, slightly uneven plate."""
    rng = np.random.default_rng(5)
    plate = 0.75 + 0.02 * rng.standard_normal((SIZE, SIZE))
    rows, columns = np.mgrid[:SIZE, :SIZE] + 0.5
    frames = []
    for k in range(-3, FRAMES):
        t = k / RATE
        x, y = -4.0 + 120.0 * t, 60.0 - 110.0 * t + 0.5 * GRAVITY * t * t
        inside = np.clip(RADIUS + 0.5 - np.hypot(columns - x, rows - y), 0.0, 1.0)
        frames.append(plate * (1.0 - inside) + 0.15 * inside)
    return np.repeat(np.stack(frames)[..., None], 3, axis=3)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    place = tmp_path_factory.mktemp("clips") / "thrown.mp4"
    write_video(place, draw_throw(), RATE)
    return place


def run(*arguments):
    return CliRunner().invoke(diffloom, list(arguments))


def test_slow_motion_is_doubted_before_anything_is_fitted(tmp_path):
    # As played, gravity is 17 px/s^2: a pixel would be 0.6 m, and the disc 6 m across.
    slow = tmp_path / "slow.mp4"
    write_video(slow, draw_throw(), 8)
    done = run("measure", str(slow), "--out", str(tmp_path / "run"))
    assert "a throw" in done.output
    assert "mm across" in str(done.exception) and '--known "rate = 240"' in str(done.exception)
    assert not (tmp_path / "run.toml").exists()


def test_a_fact_of_another_kind_is_refused_with_those_that_are_known(clip, tmp_path):
    done = run("measure", str(clip), "--known", "mass = 3 kg", "--out", str(tmp_path / "run"))
    assert "diameter" in str(done.exception) and "rate" in str(done.exception)


def test_a_throw_is_consistent_with_one_law(clip):
    done = run("audit", str(clip))
    assert done.exit_code == 0, done.output
    assert "throw" in done.output
    assert "consistent" in done.output.splitlines()[-1]


@pytest.mark.slow
def test_a_clip_becomes_numbers(clip, tmp_path):
    done = run("measure", str(clip), "--known", "diameter = 0.4 m", "--out", str(tmp_path / "run"), "--no-report")
    assert done.exit_code == 0, done.output
    assert "gravity" in done.output and "±" in done.output
    assert (tmp_path / "run.toml").exists() and (tmp_path / "run-contact-sheet.png").stat().st_size > 0
