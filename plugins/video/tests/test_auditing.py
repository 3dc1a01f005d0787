"""Judgement of tracks: laws that are kept, missing frames and growing energy."""

from __future__ import annotations

import numpy as np
import pytest

from diffloom_video.auditing import Audit, audit_track
from diffloom_video.looking import UNSURE

RATE, NOISE = 60.0, 0.06


def judge(t: np.ndarray, x: np.ndarray, y: np.ndarray, seed: int) -> Audit:
    random = np.random.default_rng(seed)
    return audit_track(t, *(each + NOISE * random.normal(size=len(t)) for each in (x, y)))


def fall(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return 30.0 + 220.0 * t, 60.0 - 180.0 * t + 450.0 * t**2


def arcs(t: np.ndarray, speeds: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A ball that leaves the ground at row 130 with each of these speeds [px/s] in turn, pulled by 700 px/s^2."""
    row, begin = np.full_like(t, 130.0), 0.0
    for speed in speeds:
        since = t - begin
        flying = (since >= 0.0) & (since < 2.0 * speed / 700.0)
        row[flying] = 130.0 - speed * since[flying] + 350.0 * since[flying] ** 2
        begin += 2.0 * speed / 700.0
    return 20.0 + 40.0 * t, row


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_throw_is_consistent(seed: int) -> None:
    t = np.arange(42) / RATE
    assert judge(t, *fall(t), seed).consistent


def test_missing_frames_are_found_where_they_are() -> None:
    t = np.arange(42) / RATE
    cut = np.delete(t, np.arange(20, 24))
    found = judge(t[: len(cut)], *fall(cut), 4)
    assert not found.consistent
    assert "frames are missing at 0.3" in str(found)


def test_energy_that_grows_at_a_bounce_is_told_with_its_number() -> None:
    t = np.arange(75) / RATE
    assert judge(t, *arcs(t, (240.0, 190.0, 150.0)), 5).consistent
    found = judge(t, *arcs(t, (150.0, 120.0, 150.0)), 5)
    assert "energy grows at bounce 2" in str(found)


def test_a_wandering_track_obeys_no_law() -> None:
    random = np.random.default_rng(6)
    x, y = (100.0 + np.cumsum(3.0 * random.normal(size=60)) for _ in range(2))
    found = audit_track(np.arange(60) / RATE, x, y)
    assert found.kind == UNSURE
    assert "no law of ours explains it" in str(found)
