"""Random starts after ends that do not explain the video, and results that survive failures after the fit."""

import dataclasses
import math

import pytest
import torch
from toy_scenes import TRUTH, toy_scene

from diffloom.interfaces import InputError
from diffloom_fitting import Experiment, GaussNewton, Stage, Stop, Unknown, run_fit, synthesise
from diffloom_fitting.restarts import DRAWS, draw_points, explains_video
from diffloom_fitting.targets import Target


def experiment_of(start, restarts, **changes):
    scene = toy_scene()
    target = synthesise(scene, {"velocity": [[1.0, 2.0, 0.0]]})
    stage = Stage(GaussNewton(), 30, stop=Stop(change=1e-9, patience=3))
    whole = Experiment(scene, target, [Unknown("velocity", [start])], stages=(stage, stage), restarts=restarts)
    return dataclasses.replace(whole, **changes)


def test_random_starts_find_what_the_first_start_does_not():
    far = [-9.0, 6.0, 2.0]
    stuck, found = (run_fit(experiment_of(far, restarts)) for restarts in (0, 3))
    assert stuck.verdict.level != "green"
    assert found.verdict.level == "green"
    assert found.loss < 1e-3 * stuck.loss
    assert "followed by 1 round of 48 random starts" in found.reason
    assert run_fit(experiment_of(far, 3)).z.equal(found.z)


def test_an_end_that_explains_the_video_is_kept():
    experiment = experiment_of([1.1, 2.1, 0.0], 3)
    found = run_fit(experiment)
    assert explains_video(experiment, found.z)
    assert "random starts" not in found.reason


def test_points_keep_some_unknowns_and_draw_others():
    scene = toy_scene()
    unknowns = [Unknown("gravity", 9.0), Unknown("drag", 0.4)]
    layout = Experiment(scene, synthesise(scene, TRUTH), unknowns).layout
    end = layout.start() + 7.0
    points = torch.stack(draw_points(layout, layout.start(), end, 3))
    kept = points == end
    assert points.shape == (DRAWS, 2)
    assert not kept.all(dim=1).any()
    assert kept.any(dim=0).all()
    assert not kept.all(dim=0).any()


def test_whatever_fails_after_a_fit_its_result_is_kept(monkeypatch):
    def fail(*given):
        raise ArithmeticError("no judgement today")

    monkeypatch.setattr(Experiment, "trust", fail)
    monkeypatch.setattr(Experiment, "outcome", fail)
    with pytest.warns(
        UserWarning, match=r"failed \(ArithmeticError: no judgement today\); the result of the fit is kept"
    ):
        found = run_fit(experiment_of([1.1, 2.1, 0.0], 0))
    assert found["velocity"].flatten().tolist() == pytest.approx([1.0, 2.0, 0.0], abs=1e-6)
    assert found.verdict.level == "amber"
    assert "judging the fit failed" in found.uncertainty
    assert "measuring held-out frames and tracks failed" in found.reason
    assert math.isfinite(found.loss)


def test_held_out_frames_beyond_the_simulation_are_refused_before_the_fit():
    whole = experiment_of([1.1, 2.1, 0.0], 0)
    late = Target(torch.tensor([0.1, 5.0]), torch.zeros(2, 16, 16, 3))
    size = whole.scene.viewpoint.size
    late = dataclasses.replace(late, frames=torch.zeros(2, *size, 3))
    with pytest.raises(
        InputError, match=r"held-out frames run from 0.1 s to 5 s, .* \(time.duration\) or hold out fewer"
    ):
        dataclasses.replace(whole, holdout=late)
    with pytest.raises(InputError, match=r"experiment.target: the frames run from 0.1 s to 5 s"):
        dataclasses.replace(whole, target=late)


def test_colours_that_jump_at_outlines_are_warned_of():
    whole = experiment_of([1.1, 2.1, 0.0], 0)

    class Hard(type(whole.scene.renderer)):
        edge_gradients = False

    bare = dataclasses.replace(whole.target, frames=whole.target.frames[..., :3])
    hard = whole.scene.with_renderer(Hard())
    with pytest.warns(UserWarning, match="colours jump where outlines move"):
        dataclasses.replace(whole, scene=hard, target=bare).check_before()
