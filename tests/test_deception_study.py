"""Study of deception: mistakes of either sign, the jobs of a study, and its figures."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "deception_study.py"


@pytest.fixture(scope="module")
def study() -> Any:
    spec = importlib.util.spec_from_file_location("deception_study", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["deception_study"] = module
    spec.loader.exec_module(module)
    return module


def row(study: Any, mistake: str, level: str, off: float, kind: str = "raw") -> dict[str, Any]:
    return {"scene": "struck", "mistake": mistake, "kind": kind, "seed": 0, "level": level, "told": {},
            "errors": {"density": 0.1 * off}, "deviations": {"density": 0.1}, "seconds": 1.0}  # fmt: skip


def test_a_mistake_has_an_opposite_and_a_size(study: Any) -> None:
    told = study.Told(rate=1.02, roll=2.0)
    assert study.flip(told, 1.0) == told
    assert study.flip(told, -1.0) == study.Told(rate=1.0 / 1.02, roll=-2.0)
    assert study.flip(study.Told(), -1.0) == study.Told()
    larger = study.enlarge(told, 2.5)
    assert larger.rate == pytest.approx(1.05)
    assert larger.roll == 5.0


def test_every_scene_has_a_control_and_twelve_mistakes_of_both_kinds(study: Any) -> None:
    jobs = list(study.jobs(7, 1))
    assert len(jobs) == len(set(jobs))
    for scene in study.SCENES:
        mine = [job for job in jobs if job[0] == scene]
        assert {job[2] for job in mine} == {"raw", "h264"}
        assert len({job[1] for job in mine} - {"control"}) >= 12
        assert any(job[1] == "control" for job in mine)


def test_a_recording_with_a_mistake_differs_from_the_one_without(study: Any) -> None:
    case = study.SCENES["thrown"](study.draws(3))
    videos = [study.record(case.scene(told), case.truth, told, "raw", 3).frames
              for told in (study.Told(), study.Told(), study.Told(rate=1.02), study.Told(size=1.02))]  # fmt: skip
    assert bool((videos[0] == videos[1]).all())
    for other in videos[2:]:
        assert float((other - videos[0]).abs().max()) > 0.03


def test_the_figures_count_green_fits_alone(study: Any) -> None:
    rows = [row(study, "control", "green", 0.5), row(study, "control", "amber", 0.5),
            row(study, "push 5 %", "green", 1.5), row(study, "push 5 %", "green", 2.5, "h264"),
            row(study, "push 5 %", "amber", 9.0)]  # fmt: skip
    assert study.within(rows) == (2, 3)
    told = study.summary(rows)
    assert "with a mistake within 2 ±: 50.0 % of 2; " in told
    assert "controls green: 50.0 % of 2" in told
    scatter = ((0.5**2 + 0.5**2 + 1.5**2 + 2.5**2 + 9.0**2) / 5.0) ** 0.5
    assert study.widths(rows)["struck density"] == pytest.approx(1.0 / scatter)
