"""Goals that are ways to go, and every kind of goal as a file has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from test_control_files import DRIVEN, GOAL

from diffloom.cli.group import diffloom
from diffloom.interfaces import InputError
from diffloom_control.goals import make_track_target
from diffloom_experiments import build_experiment, load_file
from diffloom_fitting import run_fit
from diffloom_fitting.goal_outcome import GoalOutcome
from diffloom_fitting.gradient_check import check_gradient
from diffloom_fitting.losses import CentreError, TrackError

pytest_plugins = ("test_control_files",)

ROWS = [[0.2, 9.0, 6.5], [0.3, 9.6, 6.5], [0.4, 10.2, 7.0]]


def build(toy, text, **changes):
    return build_experiment(load_file(toy(text), changes=changes))


def pushed(toy, text, **changes):
    """One push per step as unknown instead of a policy reaches every goal within reach."""
    driven = '[unknowns."control.push"]\neach = true\n[[stages]]\noptimiser = "lbfgs"\niterations = 30\n'
    return build(toy, text + driven, **changes)


def test_a_body_follows_a_track_in_the_image(toy):
    experiment = pushed(toy, f"[target]\ntrack = {ROWS}\n")
    assert experiment.loss == TrackError()
    assert experiment.target.goal and experiment.target.times.tolist() == [0.2, 0.3, 0.4]
    gradient = check_gradient(experiment.objective(), experiment.start())
    assert gradient.worst < 1e-6
    start = experiment.objective().view(experiment.start())
    found = run_fit(experiment)
    end = experiment.objective().view(found.z)
    wanted = torch.tensor(ROWS, dtype=torch.float64)[:, 1]
    before, after = (view.outline[:, :, 0].mean(dim=1).sub(wanted).abs().max() for view in (start, end))
    # The push is sideways, so columns are reached and rows are not.
    assert float(after) < 0.1 < 0.5 < float(before)
    assert "off its track" in found.goal.words(found.steps)


def test_a_csv_file_says_the_same(toy, tmp_path):
    lines = ["note,row,time,column", *(f"x,{row},{time},{column}" for time, column, row in ROWS)]
    (tmp_path / "track.csv").write_text("\n".join(lines) + "\n")
    from_file, inline = (pushed(toy, f"[target]\ntrack = {given}\n") for given in ('"track.csv"', ROWS))
    assert torch.equal(from_file.target.times, inline.target.times)
    assert torch.equal(from_file.target.tracks.nan_to_num(), inline.target.tracks.nan_to_num())
    assert from_file.target.source == "the track track.csv"


def test_one_vertex_follows_a_track(toy):
    experiment = pushed(
        toy, f'[target]\ntrack = {ROWS}\n[loss]\nname = "track"\nvertices = [1]\n', **{"stages.0.iterations": 200}
    )
    assert check_gradient(experiment.objective(), experiment.start()).worst < 1e-6
    end = experiment.objective().view(run_fit(experiment).z)
    assert float((end.outline[:, 1, 0] - torch.tensor(ROWS, dtype=torch.float64)[:, 1]).abs().max()) < 0.1
    with pytest.raises(InputError, match=r"got vertices \[3\]; the drawn surface has 0 to 2"):
        run_fit(pushed(toy, f'[target]\ntrack = {ROWS}\n[loss]\nname = "track"\nvertices = [3]\n'))


def test_a_track_in_space_is_of_the_middle(toy):
    experiment = pushed(toy, "[target]\ntrack = [[0.2, 0.3, 0.2, 0.0], [0.4, 0.2, 0.2, 0.0]]\n")
    assert experiment.loss == CentreError()
    found = run_fit(experiment)
    end = experiment.objective().view(found.z)
    assert float((end.q[:, 0, 0] - torch.tensor([0.3, 0.2], dtype=torch.float64)).abs().max()) < 1e-3
    assert found.goal.distance is not None and found.goal.track is None


@pytest.mark.parametrize(
    "track, told",
    [
        ("[[0.2, 3.0]]", r"target\.track: track: got \[0\.2, 3\.0\] as its first row; expected rows of time"),
        ("[]", "got 0 rows; expected rows of time"),
        ("[[0.2, 3.0, 4.0], [0.3, 3.0]]", "track row 1: got .* expected 3 numbers"),
        ("[[0.3, 3.0, 4.0], [0.2, 3.0, 4.0]]", "its times do not rise from row to row"),
        ("[[0.2, 3.0, 4.0], [0.9, 3.0, 4.0]]", "from 0.2 s to 0.9 s; the simulation covers 0 s to 0.4 s"),
        ("[[0.2, nan, 4.0]]", "expected a number"),
        ('"nowhere.csv"', r"nowhere\.csv': no such file"),
        ('"bad.csv"', "bad.csv: it has the columns time, across; expected rows of time, column, row"),
        ('"words.csv"', "words.csv: line 3 has 'left' as column; expected a number"),
        ('"empty.csv"', r"empty\.csv: it has the columns \(none\)"),
        ("[[0.2, 3.0, 4.0]]\nat = 0.2", "target.at: a track has times and places of its own"),
        ("[[0.2, 3.0, 4.0]]\ncentre = [0, 0, 0]", "target.centre: a track has times"),
        ("[[0.2, 3.0, 4.0]]\nregion = [0, 0, 1, 0.5]", "target.region: a track has times"),
        ('[[0.2, 3.0, 4.0]]\nvideo = "clip.mp4"', "target.video: this belongs to a video"),
    ],
)  # fmt: skip
def test_tracks_that_cannot_be_meant(toy, tmp_path, track, told):
    (tmp_path / "bad.csv").write_text("time,across\n0.2,3\n")
    (tmp_path / "words.csv").write_text("time,column,row\n0.2,3,4\n0.3,left,4\n")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match=told):
        build(toy, f"[target]\ntrack = {track}\n{DRIVEN}")


def test_tracks_from_python(toy):
    scene = build(toy, GOAL + DRIVEN).scene
    made = make_track_target(torch.tensor(ROWS), scene)
    assert made.tracks.shape == (3, 4) and bool(made.tracks[:, 2].isnan().all())
    with pytest.raises(InputError, match="track 'abc': no such file"):
        make_track_target("abc", scene)
    with pytest.raises(InputError, match="track: got 3"):
        make_track_target(3, scene)
    told = GoalOutcome(None, None, 0.0, 0.012).words(4)
    assert told == "reached the goal, 1.2 % of the image's height off its track, in 4 iterations"
    assert GoalOutcome(None, None, 0.0, 0.3).words(1).startswith("did not reach the goal")


STATE = "[target]\npose = { velocity = [0.0, 0.0, 0.0] }\nat = 0.4\n"


@pytest.mark.parametrize(
    "text",
    [
        GOAL,
        '[target]\nimage = "goal.png"\nat = [0.2, 0.4]\n',
        '[target]\ngoals = [{ image = "goal.png", at = 0.2 }, { image = "goal.png", at = 0.4 }]\n',
        '[target]\nmask = "mask.png"\n',
        GOAL + "region = [0.4, 0.0, 1.0, 1.0]\n",
        "[target]\ncentre = [0.6, 0.2, 0.0]\n",
        STATE + '[loss]\nname = "state"\n',
        f"[target]\ntrack = {ROWS}\n",
    ],
    ids=["image", "times", "several", "mask", "region", "centre", "state", "track"],
)
def test_every_kind_of_goal_pulls(toy, text):
    experiment = build(toy, text + DRIVEN)
    result = run_fit(experiment)
    assert result.loss < 0.999 * result.start_loss
    assert "the goal" in result.goal.words(result.steps)


@pytest.mark.parametrize(
    "frames, times",
    [
        ("use = [-1]", [0.4]),
        ("every = 1", [0.08, 0.16, 0.24, 0.32, 0.4]),
        ("use = [1, 3]", [0.16, 0.32]),
    ],
    ids=["last", "all", "chosen"],
)
def test_a_loss_sees_the_last_frame_all_or_some(toy, frames, times):
    text = f'[target]\nimage = "goal.png"\nat = "all"\nrate = 12.5\nframes = {{ {frames}, holdout = "none" }}\n'
    experiment = build(toy, text + DRIVEN)
    assert experiment.target.times.tolist() == pytest.approx(times)
    result = run_fit(experiment)
    assert result.loss < result.start_loss


def test_effort_and_smoothness_cost_what_a_file_says(toy):
    text = "[target]\ncentre = [2.0, 0.2, 0.0]\n"
    rows = {}
    for name, changes in (("free", {}), ("effort", {"control.effort": 1e-2}), ("smooth", {"control.smoothness": 1e-3})):
        experiment = pushed(toy, text, **changes)
        rows[name] = experiment.objective().view(run_fit(experiment).z).control["push"]
    rates = {name: float(value.diff(dim=0).square().mean()) for name, value in rows.items()}
    efforts = {name: float(value.square().mean()) for name, value in rows.items()}
    assert efforts["effort"] < 0.9 * efforts["free"]
    assert rates["smooth"] < 0.5 * rates["free"]


def test_the_tables_of_the_page_on_control_build(toy, tmp_path):
    """The track of docs/control.md on the toy: three seconds long, with a push instead of the cart's torque."""
    (tmp_path / "track.csv").write_text("time,column,row\n0.5,9.0,6.5\n1.0,10.0,6.5\n")
    page = (Path(__file__).parents[3] / "docs" / "control.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert [block.split("\n", 1)[0] for block in blocks] == ["[target]", "[target]", "[policy]"]
    for block in blocks:
        text = block.replace('"torque"', '"push"')
        text = text + DRIVEN if "[target]" in block else GOAL + text + '[[stages]]\noptimiser = "adam"\n'
        experiment = build(toy, text, **{"time.steps": 75})
        assert experiment.target.goal and experiment.layout.size > 0


def test_a_run_along_a_track_has_a_report(toy, tmp_path):
    file = toy(f"[target]\ntrack = {ROWS}\n{DRIVEN}")
    done = CliRunner().invoke(diffloom, ["run", str(file), "--out", "run", "--no-check"])
    assert done.exit_code == 0, done.output
    assert "off its track" in done.output
    assert (tmp_path / "run" / "report.html").exists()
