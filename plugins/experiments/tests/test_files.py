import json
from pathlib import Path

import pytest
import torch
from toy_file import TOY

from diffloom.interfaces import InputError
from diffloom.plugins import UnknownNameError
from diffloom_experiments import ExperimentFile, build_experiment, build_scene, load_file
from diffloom_experiments.load import draw_opposite
from diffloom_fitting import run_fit


@pytest.fixture
def toy_file(tmp_path, toy_registry):
    path = tmp_path / "toy.toml"
    path.write_text(TOY)
    return path


def changed(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_a_file_is_an_experiment(toy_file):
    experiment = build_experiment(load_file(toy_file))
    assert experiment.scene.dt == 1 / 25
    assert len(experiment.target) == 6
    assert len(experiment.holdout) == 5
    assert 5.0 < float(experiment.target.truth["gravity"]) < 8.0
    result = run_fit(experiment)
    assert max(e.error for e in result.estimates) < 1e-8
    assert result.holdout_loss < 1e-12


def test_draws_depend_on_the_seed_and_the_place_alone(toy_file):
    first = build_experiment(load_file(toy_file))
    again = build_experiment(load_file(toy_file))
    other = build_experiment(load_file(toy_file, changes={"seed": 1}))
    assert torch.equal(first.start(), again.start())
    assert not torch.equal(first.start(), other.start())
    assert first.target.truth["gravity"] != other.target.truth["gravity"]
    moved = build_experiment(load_file(changed(toy_file, "drag = 0.8", "drag = { uniform = [0.5, 1.0] }")))
    assert moved.target.truth["gravity"] == first.target.truth["gravity"]


def test_settings_and_quick(toy_file):
    loaded = load_file(toy_file, settings=["camera.size=[12, 12]", "stages.0.optimiser=adam"], quick=True)
    assert loaded.content.camera.size == (12, 12)
    assert loaded.content.stages[0].iterations == 2
    assert loaded.content.stages[0].optimiser.name == "adam"
    assert load_file(toy_file).content.stages[0].iterations == 12


def test_another_renderer_draws_the_target(toy_file):
    same = build_experiment(load_file(toy_file))
    cross = build_experiment(load_file(toy_file, changes={"target.renderer": "soft_spots"}))
    assert not torch.equal(same.target.frames, cross.target.frames)
    assert torch.equal(same.target.q, cross.target.q)


def test_several_starts_are_drawn_or_scattered(toy_file):
    experiment = build_experiment(load_file(toy_file, settings=["starts.count=3", "starts.probe=2"]))
    gravities = {float(start["gravity"]) for start in experiment.starts}
    assert len(gravities) == 2
    assert len({float(start["drag"]) for start in experiment.starts}) == 2
    assert all(6.0 < g < 12.0 for g in gravities)


def test_a_second_start_lies_across_the_range(toy_file):
    experiment = build_experiment(load_file(toy_file, settings=["starts.count=3", "starts.opposite=true"]))
    first = float(experiment.layout.decode(experiment.start())["gravity"])
    second, third = (float(start["gravity"]) for start in experiment.starts)
    assert first + second == pytest.approx(6.0 + 12.0)
    assert third not in (first, second)
    assert draw_opposite({"log_uniform": [1.0, 100.0]}, 2.0) == pytest.approx(50.0)
    assert draw_opposite({"normal": [3.0, 1.0]}, 2.0) == pytest.approx(4.0)
    assert draw_opposite({"choice": [3.0, 1.0]}, 3.0) == 3.0


BAD = [
    ("[camera]", "[camera]\ndistence = 3", "camera.distence: unknown key; did you mean 'distance'? Allowed here: az"),
    ("distance = 5", "distance = -5", "camera.distance: got -5; expected more than 0"),
    ("distance = 5", 'distance = "far"', "camera.distance: got 'far'; expected a number"),
    ("size = [16, 16]", "size = [16]", "camera.size.1: this is missing"),
    ("[time]", "[tme]", "tme: unknown key; did you mean 'time'?"),
    ("steps = 10", "steps = 0", "time.steps: got 0; expected at least 1"),
    ("steps = 10", "steps = 10\nduration = 1.0", "time: give either steps or duration"),
    ("count = 1", "cuont = 1", "model.cuont: 'toy' has no such setting; did you mean 'count'?"),
    ("sigma = 2.0", "sgma = 2.0", "renderer.spots.sgma: 'spots' has no such setting; did you mean 'sigma'?"),
    ("sigma = 2.0", "sigma = -2.0", "renderer.spots: ToyRenderer: got sigma=-2; expected a positive number"),
    ('start = "0.4 1/s"', 'start = "0.4 1/min"', "unknowns.drag.start: got '0.4 1/min', in 1/min; expected in 1/s"),
    ("drag = 0.8", 'drag = "0.8 kg"', "truth.drag: got '0.8 kg', in kg; expected in 1/s"),
    ("drag = 0.8", "drag = -0.8", "parameter 'drag' [1/s]: got -0.8; expected at least 0"),
    ("drag = 0.8", "drga = 0.8", "truth.drga: the scene has nothing called 'drga'; did you mean 'drag'?"),
    ("velocity = [[1.0, 2.0, 0.0]]", "velocity = [1.0, 2.0]", "got shape (2,); expected (points, 3) = (1, 3)"),
    ("velocity = ", "velocty = ", "ToyModel has no parameter 'velocty'; did you mean 'velocity'?"),
    ("[unknowns.drag]", "[unknowns.drug]", "unknowns.drug: the scene has nothing called 'drug'; did you mean 'drag'?"),
    ('optimiser = "gauss_newton"', 'optimiser = "gaus_newton"', "Did you mean 'gauss_newton'?"),
    ('optimiser = "gauss_newton"', 'optimiser = { name = "adam", rte = 1 }', "stages.0.optimiser.rte: 'adam' has"),
    ("frames = { every = 2 }", "frames = { use = [99] }", "target.frames.use: got 99; the target has frames 0 to 10"),
    ("rate = 25", 'video = "no.mp4"', "no such file or folder"),
    ("{ uniform = [5.0, 8.0] }", "{ uniform = [5.0] }", "truth.gravity: got uniform = [5.0]; expected two numbers"),
    ("steps = 10", "steps = 10\nsteps = 11", "this is not valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), BAD, ids=[new.splitlines()[-1][:30] for _, new, _ in BAD])
def test_faults_name_file_place_and_remedy(toy_file, old, new, message):
    with pytest.raises(InputError) as caught:
        build_experiment(load_file(changed(toy_file, old, new)))
    assert "toy.toml" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "toy"', 'name = "fem"', "the model 'fem' comes with diffloom-physics-fem"),
        ('name = "spots"', 'name = "sptos"', "there is no renderer 'sptos'. Did you mean 'spots'?"),
        ('"toy_steps"', '"toy_step"', "there is no integrator 'toy_step'. Did you mean 'toy_steps'?"),
        ("[truth]", '[loss]\nname = "mze"\n[truth]', "there is no loss 'mze'"),
    ],
)
def test_absent_plugins_are_named_with_the_way_to_install_them(toy_file, old, new, message):
    with pytest.raises((InputError, UnknownNameError), match=message.replace("(", r"\(")):
        build_experiment(load_file(changed(toy_file, old, new)))


def test_the_schema_describes_every_key():
    schema = ExperimentFile.model_json_schema()
    text = json.dumps(schema)
    assert "physics step [s]" in text
    assert set(schema["properties"]) >= {"model", "time", "camera", "target", "unknowns", "stages"}


def test_a_scene_needs_no_target(toy_file):
    text = toy_file.read_text()
    toy_file.write_text(text[: text.index("[target]")])
    assert build_scene(load_file(toy_file)).steps == 10
    with pytest.raises(InputError, match="nothing is unknown"):
        build_experiment(load_file(toy_file))


CROSS_RENDERER = """
[variants.cross_renderer]
[[variants.cross_renderer.stages]]
optimiser = "gauss_newton"
iterations = 5
[variants.cross_renderer.stages.loss]
name = "interior"
level = 0.3
scale = { first = 0.1, last = 1e-3, shape = "exponential" }
[variants.quick]
"""


def test_what_another_renderers_video_changes(toy_file):
    changed(toy_file, "[variants.quick]\n", CROSS_RENDERER.lstrip())
    own = load_file(toy_file, changes={"target.renderer": "spots"})
    assert own.content.stages[0].iterations == 12
    other = load_file(toy_file, changes={"target.renderer": "soft_spots"}, settings=["stages.0.iterations=3"])
    (last,) = build_experiment(other).stages
    assert last.iterations == 3
    assert last.loss.level == 0.3
    assert last.settings(0) == (1.0, {"loss.scale": 0.1})
    assert last.settings(2) == (1.0, {"loss.scale": pytest.approx(1e-3)})
    history = run_fit(build_experiment(other)).history
    assert [r.renderer.get("loss.scale") for r in history][-1] == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (
            "{ first = 'abc', last = 1.0 }",
            r"stages\.0\.loss\.scale: not a schedule\n  first: got 'abc'; expected a number",
        ),
        ("{ first = 0.3, lst = 1.0 }", r"lst: unknown key; did you mean 'last'\?"),
    ],
)
def test_a_wrong_schedule_of_a_loss_is_explained(toy_file, scale, said):
    stage = f"stages.0={{ optimiser = 'adam', loss = {{ name = 'interior', scale = {scale} }} }}"
    with pytest.raises(InputError, match=said):
        build_experiment(load_file(toy_file, settings=[stage]))


def test_a_row_may_be_added_at_the_end_only(toy_file):
    stage = "{ optimiser = 'adam', iterations = 2 }"
    assert len(load_file(toy_file, settings=[f"stages.1={stage}"]).content.stages) == 2
    with pytest.raises(InputError, match="expected the number of a row"):
        load_file(toy_file, settings=[f"stages.2={stage}"])


POLICY = """
[policy]
drives = "push"
phases = 4
frequency = 2.0
hidden = [3]
scale = 2.0
[unknowns.policy]
[[stages]]
optimiser = "lbfgs"
"""


def test_a_network_learns_to_drive_a_control(toy_file):
    """The goal is the last frame under a steady push; a network of two layers finds pushes that lead there."""
    text = TOY.replace("gravity = { uniform = [5.0, 8.0] }\ndrag = 0.8", "push = 0.9").replace(
        "frames = { every = 2 }", 'frames = { use = [-1], holdout = "none" }'
    )
    begin, end = text.index("[unknowns.gravity]"), text.index("iterations = 12")
    toy_file.write_text(text[:begin] + POLICY.lstrip() + text[end:].replace("iterations = 12", "iterations = 30"))
    experiment = build_experiment(load_file(toy_file))
    assert [slot.shape for slot in experiment.layout.slots] == [(3, 4), (3,), (1, 3), (1,)]
    result = run_fit(experiment)
    assert result.loss < 1e-4 * result.start_loss
    again = build_experiment(load_file(toy_file))
    assert torch.equal(again.start(), experiment.start())
    changed(toy_file, 'drives = "push"', 'drives = "pull"')
    with pytest.raises(InputError, match="policy.drives: got 'pull'; this model's controls are: push"):
        build_scene(load_file(toy_file))
