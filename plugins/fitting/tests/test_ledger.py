"""Ledger of assumptions: prices against refits, doubts, and what the user states."""

import json
import math
from dataclasses import replace

import pytest
import torch

from diffloom.interfaces import InputError
from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import Appearance, Experiment, Orbit, Scene, Sensor, Viewpoint, fit, run_fit, synthesise
from diffloom_fitting.result_tables import list_ledger, result_lines
from diffloom_fitting.results import decode_result, result_data
from diffloom_fitting.trust.tolerances import length_power
from diffloom_studio.report.advice import give_advice

TRUTH = {"density": 4.0, "velocity": [0.3, 2.4, 0.2]}


def scene_of(size=1.0, distance=6.0, gravity=-9.81, roll=0.0, strength=1.0):
    impulse = [2.0 * strength, 1.5 * strength, -1.0 * strength]
    model = get_model("rigid")(
        [{"shape": "box", "size": [size] * 3}], ground=False,
        pushes=[{"vertex": 3, "impulse": impulse, "start": 0.0, "end": 0.1}],
    )  # fmt: skip
    camera = Viewpoint(Orbit(distance, 15.0, fov=40.0, size=(32, 32)), sensor=Sensor(roll=roll))
    params = model.params(torch.float64, gravity=[0.0, gravity, 0.0])
    renderer = get_renderer("coverage")(background=(0.4, 0.4, 0.4))
    return Scene(model, renderer, camera, params, 1 / 960, 480, appearance=Appearance(pattern="position"))


def recording(scene, noise=0.005):
    clean = synthesise(scene, TRUTH, rate=30)
    grain = torch.randn(clean.frames[..., :3].shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    frames = clean.frames[..., :3] + noise * grain
    return replace(clean, frames=frames, masks=None, q=None, step=1 / 255, synthetic=False)


@pytest.fixture(scope="module")
def found():
    return fit(scene_of(), recording(scene_of()), TRUTH)


def entry(result, name):
    return next(one for one in result.uncertainty.ledger.entries if one.name == name)


def test_a_synthetic_video_has_no_tolerances(found):
    result = fit(scene_of(), replace(recording(scene_of()), synthetic=True), TRUTH)
    assert not result.uncertainty.ledger.entries
    assert all((a.deviation < b.deviation).all() for a, b in zip(result.estimates, found.estimates, strict=True))


@pytest.mark.parametrize(
    ("name", "changed"),
    [("size", {"size": 1.005}), ("camera.distance", {"distance": 6.03}), ("push_force", {"strength": 1.01})],
)
def test_the_price_of_an_assumption_is_how_far_a_refit_moves(found, name, changed):
    video = recording(scene_of())
    other = fit(scene_of(**changed), video, TRUTH)
    one = entry(found, name)
    relative = {"size": 0.5, "camera.distance": 0.5, "push_force": 1.0}[name]
    assert float(other["density"] - found["density"]) == pytest.approx(relative * one.percent[0], rel=0.15)


def test_the_parts_add_up_to_the_whole(found):
    ledger, whole = found.uncertainty.ledger, float(found.uncertainty.deviation["density"])
    parts = sum(one.share[0] ** 2 for one in ledger.entries) ** 0.5
    assert 0.7 * whole < parts <= 1.05 * whole
    assert found.verdict.level == "green"
    assert "from push_force (± 3 %)" in str(found).replace("\n", " ")


def test_the_linear_price_of_the_largest_is_checked(found):
    ledger = found.uncertainty.ledger
    assert ledger.checked in {one.name for one in ledger.entries}
    assert ledger.bend < 0.25
    loose = run_fit(Experiment(scene_of(), recording(scene_of()), TRUTH, assumed={"push_force": "60 %"}))
    assert loose.uncertainty.ledger.checked == "push_force"
    assert loose.uncertainty.ledger.bend > 2.0 * ledger.bend
    assert float(loose.uncertainty.deviation["density"]) > 10.0 * float(found.uncertainty.deviation["density"])


def test_the_assumption_that_explains_best_is_named():
    tilted = fit(scene_of(), recording(scene_of(roll=5.0)), TRUTH)
    best = max(tilted.uncertainty.ledger.entries, key=lambda one: one.explains)
    assert best.name == "camera.roll"
    assert best.value - best.alone == pytest.approx(5.0, abs=1.0)
    assert "a camera.roll of " in tilted.verdict.explained.text
    assert '"camera.roll" = "seek"' in give_advice(tilted)[0]
    assert any("from what the pixels contradict" in line for line in result_lines(tilted))


def test_a_number_says_where_it_came_from(found):
    origins = {one.name: one.origin for one in found.uncertainty.ledger.entries}
    assert origins["camera.distance"] == "given"
    assert origins["camera.azimuth"] == origins["camera.roll"] == "default"
    assert origins["time.dt"] == "measured"


def test_a_misfit_shows_in_coarse_squares_of_a_recording(found):
    assert found.uncertainty.coarse_misfit < 1.0
    video = recording(scene_of())
    turned = replace(video, frames=video.frames.flip(0))
    wrong = fit(scene_of(), turned, TRUTH, iterations=3)
    assert wrong.uncertainty.coarse_misfit > 2.0


def test_a_mistake_within_tolerances_is_covered_and_one_beyond_is_named():
    told = fit(scene_of(), recording(scene_of(strength=1.04)), TRUTH)
    assert told.verdict.level == "green"
    assert abs(float(told["density"]) - 4.0) < 2.0 * float(told.uncertainty.deviation["density"])
    rolled = fit(scene_of(), recording(scene_of(roll=6.0)), TRUTH)
    assert rolled.verdict.level == "amber"
    assert '[assumed] "' in rolled.verdict.explained.text


def test_a_stated_tolerance_of_the_drawn_size_is_that_of_the_ruler():
    told = run_fit(Experiment(scene_of(), recording(scene_of()), TRUTH, assumed={"appearance.size": 0.03}))
    assert entry(told, "size").tolerance == pytest.approx(0.03)
    assert entry(told, "size").stated


def test_a_late_start_that_another_place_and_speed_make_up_for_is_no_evidence():
    model = get_model("rigid")([{"shape": "box", "size": [1.0] * 3}], ground=False)
    scene = replace(scene_of(), model=model, params=model.params(torch.float64))
    video = recording(scene)
    start = {f"{name}.{axis}": 0.01 for name in ("position", "velocity") for axis in "xyz"}
    result = fit(scene, video.select(range(len(video) - 1)), start)
    late = entry(result, "camera.time_offset")
    assert late.off == 0.0
    assert math.isinf(late.off_deviation)
    assert late.change[4] == pytest.approx(9.81 * late.tolerance, rel=1e-3), "of the upward speed"


def test_a_roll_that_is_sought_is_found_and_its_tolerance_is_its_prior():
    experiment = Experiment(
        scene_of(), recording(scene_of(roll=2.0)), TRUTH, assumed={"camera.roll": "seek"}
    )  # fmt: skip
    assert experiment.gaussian.deviations["camera.roll"] == pytest.approx(1.0)
    result = run_fit(experiment)
    assert float(result["camera.roll"]) == pytest.approx(2.0, abs=0.3)
    assert not any(one.name == "camera.roll" for one in result.uncertainty.ledger.entries)


def test_gravity_beside_that_of_the_earth_is_doubted():
    result = fit(scene_of(gravity=-9.4), recording(scene_of()), TRUTH)
    assert "gravity is 9.4" in result.verdict.explained.text
    meant = Experiment(scene_of(gravity=-9.4), recording(scene_of(gravity=-9.4)), TRUTH, assumed={"gravity": "exact"})
    assert run_fit(meant).verdict.level == "green"


def test_exact_removes_and_a_number_changes_a_tolerance(found):
    video = recording(scene_of())
    none = run_fit(Experiment(scene_of(), video, TRUTH, assumed={"all": "exact"}))
    assert all(one.origin == "measured" for one in none.uncertainty.ledger.entries)
    exact = run_fit(Experiment(scene_of(), video, TRUTH, assumed={"push_force": "exact", "size": "2 %"}))
    assert not any(one.name == "push_force" for one in exact.uncertainty.ledger.entries)
    assert entry(exact, "size").tolerance == pytest.approx(0.02)
    assert entry(exact, "size").share[0] > 1.5 * entry(found, "size").share[0]


@pytest.mark.parametrize(
    ("assumed", "words"),
    [
        ({"camera.roll": "roughly"}, 'expected a number, "2 %", "exact" or "seek"'),
        ({"size": "seek"}, "cannot be sought"),
        ({"camera.rol": "exact"}, "nothing called 'camera.rol'"),
    ],
)
def test_words_that_are_none_are_refused(assumed, words):
    with pytest.raises(InputError, match=words):
        Experiment(scene_of(), recording(scene_of()), TRUTH, assumed=assumed)


def test_the_ledger_is_written_and_read(found):
    data = json.loads(json.dumps(result_data(found)))
    rows = data["uncertainty"]["ledger"]["assumptions"]
    clock = next(row for row in rows if row["name"] == "camera.clock")
    assert (clock["value"], clock["tolerance"]) == (1.0, 0.01)
    assert {"camera.roll", "camera.fov", "camera.readout", "gravity", "size", "time.dt", "integrator"} <= {
        row["name"] for row in rows
    }
    assert decode_result(data).uncertainty.ledger == found.uncertainty.ledger
    assert any(row["tolerance"] == "± 3 %" for row in list_ledger(found))


@pytest.mark.parametrize(
    ("unit", "power"), [("m/s^2", 1), ("kg/m^3", -3), ("Pa", -1), ("N s/m", 0), ("kg m^2", 2), ("rad/s", 0), ("", 0)]
)
def test_a_unit_has_a_power_of_length(unit, power):
    assert length_power(unit) == power
