"""Errors of outlines: those that were cut out, and those that a renderer draws."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import Experiment, Orbit, Scene, Stage, Stop, Unknown, run_fit, synthesise
from diffloom_fitting.losses import SilhouetteError
from diffloom_fitting.optimisers import GaussNewton
from diffloom_fitting.stages import constant
from diffloom_fitting.trust.linearised import linearise
from diffloom_fitting.trust.outlines import OUTLINE, lens_bias, outline_shift

SIZE = (48, 64)
TRUTH = {"gravity": [0.0, -9.81, 0.0]}


def scene_of(renderer):
    """A ball of 3.3 px in free flight."""
    ball = [{"shape": "sphere", "radius": 0.1, "subdivisions": 2, "position": [-0.4, 0.1, 0.0]}]
    model = get_model("rigid")(ball, ground=False)
    params = model.params(torch.float64, velocity=[[1.6, 1.0, 0.0]])
    return Scene(model, renderer, Orbit(distance=2.0, fov=40.0, size=SIZE), params, 1 / 240, 120)


def fitted(renderer, drawn):
    """The end of a fit, by one renderer, of gravity to a recorded video that another drew; the camera is sought, so the
    ball is the ruler."""
    video = synthesise(scene_of(drawn), {"gravity": torch.tensor([0.0, -9.81, 0.0], dtype=torch.float64)}, rate=20)
    masks = video.frames[..., 3].float().double()
    target = replace(video, masks=masks, confidence=torch.ones(len(video), dtype=torch.float64), step=1 / 255,
                     source="a clip", synthetic=False, truth={})  # fmt: skip
    unknowns = [
        Unknown("gravity.y", -9.5), Unknown("velocity.x", 1.5), Unknown("velocity.y", 0.9),
        Unknown("position.x", -0.38), Unknown("position.y", 0.11), Unknown("camera.distance", 2.05),
    ]  # fmt: skip
    stage = Stage(GaussNewton(), 30, stop=Stop(change=1e-9, patience=3))
    return Experiment(scene_of(renderer), target, unknowns, SilhouetteError(), (stage,))


def names(experiment):
    return [slot.name for slot in experiment.layout.slots]


def shifts(experiment, z):
    objective = experiment.last_objective()
    end = linearise(objective, z)
    inverse = torch.linalg.inv(end.unit @ end.unit.T)
    return outline_shift(objective, end, inverse) / end.size, lens_bias(objective, end), end


@pytest.mark.parametrize("sigma", [1e-4, 1e-5, 1e-6])
def test_the_allowance_for_outlines_does_not_vanish_where_edges_are_hard(sigma):
    renderer = get_renderer("softras")(sigma=sigma)
    experiment = fitted(renderer, renderer)
    z = run_fit(experiment, sure=False).z
    shift, _, _ = shifts(experiment, z)
    radius = 3.3  # px: a quarter of a pixel is 7.6 % of the ruler, and so of gravity
    expected = OUTLINE / radius * 9.81
    assert float(shift[names(experiment).index("gravity.y")]) == pytest.approx(expected, rel=0.25)


def test_a_renderer_that_draws_too_large_is_told_and_one_that_does_not_is_not():
    exact, soft = get_renderer("coverage")(), get_renderer("softras")(sigma=3e-5)
    wrong = run_fit(fitted(soft, exact))
    assert "exact area" in wrong.verdict.explained.text
    assert wrong.verdict.level != "green"
    assert wrong.uncertainty.lens_area > 1.05
    assert wrong.uncertainty.lens_bias > 0.2
    gravity = next(each for each in wrong.estimates if each.name == "gravity.y")
    assert abs(float(gravity.found) + 9.81) > 0.2, "softness of this size moves gravity"
    right = run_fit(fitted(exact, exact))
    assert right.uncertainty.lens_bias == 0.0
    assert right.uncertainty.lens_area == 1.0
    assert "exact area" not in right.verdict.explained.text
    gravity = next(each for each in right.estimates if each.name == "gravity.y")
    assert float(gravity.found) == pytest.approx(-9.81, abs=0.01)


def test_the_shift_by_the_lens_is_how_far_the_fit_moves():
    """The linear price against a refit with exact coverage."""
    exact, soft = get_renderer("coverage")(), get_renderer("softras")(sigma=1e-5)
    experiment = fitted(soft, exact)
    z = run_fit(experiment, sure=False).z
    _, bias, end = shifts(experiment, z)
    index = names(experiment).index("gravity.y")
    moved = abs(float(run_fit(fitted(exact, exact), sure=False).z[index] - z[index]))
    assert float((bias.shift / end.size)[index]) == pytest.approx(moved, rel=0.3)


def test_a_synthesised_video_has_no_lens():
    soft = get_renderer("softras")(sigma=3e-5)
    experiment = fitted(soft, soft)
    target = replace(experiment.target, synthetic=True)
    _, bias, _ = shifts(replace(experiment, target=target), experiment.start())
    assert not bool(bias.shift.any())


def test_a_stage_may_be_drawn_by_another_renderer_and_the_loop_says_so():
    exact, soft = get_renderer("coverage")(), get_renderer("softras")(sigma=1e-4)
    experiment = fitted(exact, exact)
    (last,) = experiment.stages
    coarse = replace(last, iterations=3, drawn_by=soft, renderer={"sigma": constant(1e-3)})
    experiment = replace(experiment, stages=(coarse, last))
    assert experiment.stage_objective(coarse, None, 0).scene.renderer == replace(soft, sigma=1e-3)
    assert experiment.last_objective().scene.renderer == exact
    found = run_fit(experiment, sure=False)
    notes = [record.note for record in found.history if "drawn by" in record.note]
    assert notes == ["drawn by SoftRasRenderer"]
    assert float(found.z[names(experiment).index("gravity.y")]) == pytest.approx(-9.81, abs=0.01)
