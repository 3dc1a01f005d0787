"""Goals and policies in experiment files, and runs of them."""

from __future__ import annotations

import os
import signal

import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from toy_file import TOY

from diffloom.cli.group import diffloom
from diffloom.interfaces import Checkpointed, InputError
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.run_folder import RunFolder
from diffloom_fitting import RegionLoss, run_fit
from diffloom_fitting.losses import CentreError

HEAD = TOY[: TOY.index("[target]")]
DRIVEN = """
[policy]
drives = "push"
sees = "state"
every = 3
hidden = [3]
scale = 5.0
[unknowns.policy]
[[stages]]
optimiser = { name = "adam", rate = 0.1 }
iterations = 6
"""
GOAL = """
[target]
image = "goal.png"
at = 0.4
"""


@pytest.fixture
def toy(tmp_path, toy_registry, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pixels = torch.zeros(16, 16, 3, dtype=torch.uint8)
    pixels[6:10, 9:13] = 200
    Image.fromarray(pixels.numpy()).save(tmp_path / "goal.png")
    Image.fromarray(pixels[..., 0].numpy()).save(tmp_path / "mask.png")

    def write(text: str):
        (tmp_path / "toy.toml").write_text(HEAD + text)
        return tmp_path / "toy.toml"

    return write


def test_a_goal_image_has_a_time(toy):
    experiment = build_experiment(load_file(toy(GOAL + DRIVEN)))
    assert experiment.target.times.tolist() == [0.4]
    assert experiment.target.goal
    assert experiment.target.frames.shape == (1, 16, 16, 3)
    result = run_fit(experiment)
    assert result.loss < result.start_loss
    assert result.goal.iou is None  # an image without a mask has no outline


@pytest.mark.parametrize(
    "target, times",
    [
        ('goals = [{ image = "goal.png", at = 0.4 }, { image = "goal.png", at = 0.2 }]', [0.2, 0.4]),
        ('mask = "mask.png"', [0.4]),
        ('image = "goal.png"\nmask = "mask.png"\nat = [0.2, 0.4]', [0.2, 0.4]),
        ("pose = { velocity = [0.0, 0.0, 0.0] }\nat = 0.2", [0.2]),
        ('centre = [1.0, 0.0, 0.0]\nat = "all"\nrate = 5', [0.2, 0.4]),
    ],
)
def test_what_a_goal_may_be(toy, target, times):
    experiment = build_experiment(load_file(toy(f"[target]\n{target}\n{DRIVEN}")))
    assert experiment.target.times.tolist() == pytest.approx(times)


def test_losses_of_goals_see_a_region_and_places(toy):
    experiment = build_experiment(load_file(toy("[target]\ncentre = [1.0, 0.5, 0.0]\n" + DRIVEN)))
    assert experiment.loss == CentreError()
    result = run_fit(experiment)
    assert result.goal.distance < 1.0
    part = build_experiment(load_file(toy(GOAL + "region = [0.5, 0.0, 1.0, 1.0]\n" + DRIVEN)))
    assert part.loss == RegionLoss((0.5, 0.0, 1.0, 1.0), "mse")


@pytest.mark.parametrize(
    "text, told",
    [
        (GOAL.replace("0.4", "0.9"), "target.at: got 0.9 s; the simulation covers 0 s to 0.4 s"),
        (GOAL + 'video = "clip.mp4"\n', "target.video: this belongs to a video"),
        (GOAL + "centre = [0, 0, 0]\n", "got image and centre"),
        (GOAL + 'goals = [{ image = "goal.png" }]\n', "has a goal of its own too"),
        ("[target]\ngoals = [{ at = 0.2 }]\n", "got no goal; expected an image"),
        ("[target]\npose = { speed = 3 }\n", "the model has no such parameter"),
        ('[target]\nimage = "nowhere.png"\n', "nowhere.png"),
        ('[target]\nimage = "goal.png"\nat = "all"\n', '"all" needs target.rate'),
        (GOAL + "region = [0.9, 0, 0.1, 1]\n", "expected left < right"),
    ],
)
def test_goals_that_cannot_be_meant(toy, text, told):
    with pytest.raises(InputError, match=told):
        build_experiment(load_file(toy(text + DRIVEN)))


def test_an_image_policy_and_its_settings(toy):
    text = DRIVEN.replace('"state"', '"image"\nchannels = [2]\nimage_size = [8, 8]').replace("hidden = [3]\n", "")
    loaded = load_file(toy(GOAL + text), changes={"time.gradient": "checkpointed", "control.effort": 1e-3})
    experiment = build_experiment(loaded)
    assert isinstance(experiment.scene.gradient, Checkpointed)
    assert experiment.costs.effort == 1e-3
    assert [slot.shape for slot in experiment.layout.slots] == [(2, 4, 3, 3), (2,), (1, 32), (1,)]
    assert run_fit(experiment).loss < 1.0
    with pytest.raises(InputError, match="one or more convolutions"):
        build_experiment(load_file(toy(GOAL + text), changes={"policy.channels": []}))
    with pytest.raises(InputError, match="no such file"):
        build_experiment(load_file(toy(GOAL + DRIVEN), changes={"policy.weights": "nowhere.pt"}))


def test_a_run_keeps_its_policy_and_begins_there_again(toy):
    file = toy(GOAL + DRIVEN)
    done = CliRunner().invoke(diffloom, ["run", str(file), "--out", "run", "--no-check", "--no-report"])
    assert done.exit_code == 0, done.output
    assert "the goal" in done.output
    found = build_experiment(load_file(file, changes={"policy.weights": "run/policy.pt"}))
    kept = torch.load("run/policy.pt", weights_only=True)
    torch.testing.assert_close(found.start(), torch.cat([value.reshape(-1) for value in kept.values()]))


SCATTER = '{ name = "line_scan", rate = 0.5, trials = 2, scatter = true }'


@pytest.mark.parametrize("optimiser", ['{ name = "adam", rate = 0.1 }', SCATTER], ids=["adam", "line_scan"])
def test_a_killed_run_of_a_closed_loop_goes_on_to_the_same_bits(toy, optimiser):
    file = toy(GOAL + DRIVEN.replace('{ name = "adam", rate = 0.1 }', optimiser))
    whole = run_fit(build_experiment(load_file(file)), sure=False)
    folder = RunFolder.create(file.parent / "run", load_file(file))
    child = os.fork()
    if child == 0:

        def die(state, record):
            folder.keep(state, record)
            if record.total == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        run_fit(build_experiment(folder.config()), observer=die, sure=False)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    state, history = folder.resume()
    assert state.total == 3
    again = run_fit(build_experiment(folder.config()), state=state, history=history, sure=False)
    assert torch.equal(again.z, whole.z)
    assert [r.loss for r in again.history] == [r.loss for r in whole.history]
