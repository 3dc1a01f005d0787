"""Kinds of motion that a track shows, their odds, and facts that a person knows."""

from __future__ import annotations

import numpy as np
import pytest

from diffloom.interfaces import InputError
from diffloom_video.facts import KnownFacts, parse_facts
from diffloom_video.looking import UNSURE, Candidate, find_moving_part, list_candidates
from diffloom_video.wide_swing import fit_wide_swing

RATE = 30.0
NOISE = 0.08


def shake(seed: int, *curves: np.ndarray) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [each + NOISE * random.normal(size=each.shape) for each in curves]


def best(t: np.ndarray, x: np.ndarray, y: np.ndarray) -> Candidate:
    return list_candidates(t, x, y)[0]


def bounce(t: np.ndarray, count: int, restitution: float = 0.75, pull: float = 700.0) -> np.ndarray:
    """Rows of a ball that is dropped from 100 px above the ground and bounces."""
    row, speed, height = np.empty_like(t), 0.0, 100.0
    step = 1e-4
    at = 0.0
    for k, time in enumerate(t):
        while at < time:
            speed -= pull * step
            height += speed * step
            if height < 0.0 and speed < 0.0 and count > 0:
                height, speed, count = 0.0, -restitution * speed, count - 1
            at += step
        row[k] = 120.0 - height
    return row


@pytest.mark.parametrize("seed", [1, 2])
def test_bounces_are_counted(seed: int) -> None:
    t = np.arange(50) / RATE
    x, y = shake(seed, 30.0 + 20.0 * t, bounce(t, 9))
    found = best(t, x, y)
    assert found.kind == "bounces"
    assert found.odds > 0.99
    assert found.bounces >= 2


def test_a_ball_that_rests_first_is_thrown_later() -> None:
    t = np.arange(45) / RATE
    since = np.clip(t - 0.8, 0.0, None)
    x, y = shake(3, 40.0 + 50.0 * since, 20.0 + 0.5 * 500.0 * since**2)
    found = best(t, x, y)
    assert found.kind == "throw"
    # Frames whose fall is below the noise cannot be told from rest.
    assert 0.75 < found.begin < 0.92
    assert find_moving_part(x, y)[0] > 20
    assert found.scale == pytest.approx(500.0 / 9.81, rel=0.03)


@pytest.mark.parametrize("amplitude", [0.15, 1.5])
def test_swings_of_any_amplitude_are_pendulums(amplitude: float) -> None:
    step, angle, rate, angles = 1e-3, amplitude, 0.0, []
    for k in range(4000):
        if k % 40 == 0:
            angles.append(angle)
        rate -= step * 36.0 * np.sin(angle)
        angle += step * rate
    t, turned = np.arange(100) / 25.0, np.array(angles)
    x, y = shake(4, 100.0 + 80.0 * np.sin(turned), 30.0 + 80.0 * np.cos(turned))
    assert best(t, x, y).kind == "pendulum"
    wide = fit_wide_swing(t, x, y, 5.5)
    assert wide.omega == pytest.approx(6.0, rel=0.01)
    if amplitude > 1.0:
        assert (wide.column, wide.row, wide.reach) == pytest.approx((100.0, 30.0, 80.0), abs=1.0)


def test_a_slide_slows_down_and_stops() -> None:
    t = np.arange(40) / RATE
    since = np.minimum(t, 1.0)
    x, y = shake(5, 20.0 + 150.0 * (since - 0.5 * since**2), 90.0 + 0.0 * t)
    assert best(t, x, y).kind == "slide"


@pytest.mark.parametrize("seed", range(4))
def test_wandering_is_not_named(seed: int) -> None:
    random = np.random.default_rng(100 + seed)
    t = np.arange(60) / RATE
    x, y = (100.0 + np.cumsum(3.0 * random.normal(size=60)) for _ in range(2))
    assert best(t, x, y).kind == UNSURE


def test_facts_are_read_with_units() -> None:
    facts = parse_facts("ball", ["diameter = 68.7 mm", "fov = 38"])
    assert facts.size == pytest.approx((0.0687,))
    assert (facts.fov, facts.kinds, facts.kind) == (38.0, ("throw", "bounces"), None)
    assert parse_facts("box", ["sides = 10 5 8 cm"]).size == pytest.approx((0.1, 0.05, 0.08))
    assert parse_facts("pendulum", ["length = 0.5 m", "rate = 240"]).rate == 240.0
    for what, known, words in (
        ("bal", (), "ball"),
        (None, ("diametre = 3 mm",), "diameter"),
        (None, ("length = 3 kg",), "expected in m"),
        (None, ("rate = fast",), "expected a number"),
    ):
        with pytest.raises(InputError, match=words):
            parse_facts(what, known)
    with pytest.raises(InputError, match='--known "diameter'):
        KnownFacts("bounces").check("bounces")
    with pytest.raises(InputError, match="it is a pendulum's"):
        KnownFacts("throw", length=0.5).check("throw")
