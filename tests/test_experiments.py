"""The experiments of this repository: each is whole, and its reduced version finds what it seeks."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest

from diffloom.interfaces import NoGradient
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.build import build_scene
from diffloom_experiments.origin import check_origin
from diffloom_fitting.fits import run_fit

FOLDER = Path(__file__).resolve().parents[1] / "experiments"
NAMES = ["cloth-velocity", "fem-mass", "fem-material", "rigid-contact-linear", "rigid-mass"]
# Without tables of ten seeds so far.
FURTHER = ["bounce", "double-pendulum", "pendulum", "rigid-contact"]
# Judged by their loss, not by errors of unknowns: see their own tests below.
SHAPED = ["smoke2d"]
# Experiments with several bodies.
WORLDS = ["ball-on-cloth", "billiards", "jelly-and-brick"]
# Run by scripts of their own.
STUDIED = ["cube", "shading-cues", "imperfect-ball", "imperfect-cloth", "imperfect-rigid"]
# Driven to a goal instead of found; control_study.py runs these.
CONTROL = ["control-cloth", "control-fem", "control-walker"]
# Driven to a goal too; scripts of their own, and PPO beside them.
BEYOND = ["reach", "soft-crawler"]
RENDERERS = ["softras", "dibr"]

# Largest error of the reduced version, by unknown; those of full runs are in experiments/results.
REDUCED = {
    "ball-on-cloth": {"ball.mass": 1e-3},
    "billiards": {"cue_rack.restitution": 1e-3, "cue_rack.friction": 1e-3},
    "bounce": {"joint_velocity": 1e-3, "gravity": 1e-3},
    "cloth-velocity": {"velocity": 1e-3},
    "double-pendulum": {"length": 1e-3},
    "fem-mass": {"mass": 1e-3},
    "fem-material": {"shear_modulus": 1e-3, "lame_modulus": 1e-3},
    "jelly-and-brick": {"jelly.shear_modulus": 1e-3, "jelly.lame_modulus": 1e-3},
    "pendulum": {"length": 1e-3, "gravity": 1e-3},
    "rigid-contact": {"mass": 1e-3},
    "rigid-contact-linear": {"mass": 1e-3},
    "rigid-mass": {"density": 1e-6},
}


def test_every_experiment_is_named_here_and_in_the_index():
    every = [*NAMES, *FURTHER, *SHAPED, *WORLDS, *STUDIED, *CONTROL, *BEYOND, "stack"]
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(every)
    index = (FOLDER / "README.md").read_text()
    for name in every[len(NAMES) :]:
        assert f"[{name}]({name}.toml)" in index
    for name in NAMES:
        assert f"[{name}]({name}.toml)" in index
        assert f"results/{name}.md" in index


@pytest.mark.parametrize("name", NAMES)
def test_results_hold_ten_seeds_and_their_table(name):
    records = json.loads((FOLDER / "results" / f"{name}.json").read_text())
    for pair in ("softras <- softras", "dibr <- dibr", "dibr <- softras", "softras <- dibr", "3D states", "CMA-ES"):
        assert len({record["seed"] for record in records if record["pair"] == pair}) >= 10, pair
    table = (FOLDER / "results" / f"{name}.md").read_text()
    for pair in {record["pair"] for record in records}:
        assert f"## {pair}" in table


def test_every_result_tells_where_it_comes_from():
    """Each has commit, version, command, date and machine, and its figures are those that were recorded with them."""
    files = [path for path in (FOLDER / "results").iterdir() if not path.name.endswith(".origin.json")]
    faults = [fault for file in sorted(files) for fault in check_origin(file)]
    assert not faults, "\n".join(faults)
    kept = {path.name.removesuffix(".origin.json") for path in (FOLDER / "results").glob("*.origin.json")}
    assert kept == {path.stem for path in files}


def test_the_summary_is_that_of_the_results():
    summary = importlib.util.spec_from_file_location("summary", FOLDER / "summary.py")
    module = importlib.util.module_from_spec(summary)
    summary.loader.exec_module(module)
    page = (FOLDER / "README.md").read_text()
    assert module.table() in page
    assert module.comparison() in page


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize(
    "name", [*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in (*FURTHER, *WORLDS))]
)
def test_the_reduced_version_finds_what_it_seeks(name, renderer):
    loaded = load_file(FOLDER / f"{name}.toml", quick=True, changes={"renderer.name": renderer, "seed": 1})
    result = run_fit(build_experiment(loaded), sure=False)
    errors = {estimate.name: estimate.error for estimate in result.estimates}
    for sought, bound in REDUCED[name].items():
        assert errors[sought] < bound, errors
    assert result.loss < 1e-2 * result.start_loss


@pytest.mark.parametrize("fit, video", [("softras", "dibr"), ("dibr", "softras")])
@pytest.mark.parametrize("name, bound", [("rigid-mass", 1e-5), ("fem-material", 1e-5)])
def test_videos_of_another_renderer_are_explained_too(name, bound, fit, video):
    """Whole images would end at errors of 1e-3 to 1e-2 here."""
    changes = {"renderer.name": fit, "target.renderer": video, "seed": 1}
    result = run_fit(build_experiment(load_file(FOLDER / f"{name}.toml", quick=True, changes=changes)), sure=False)
    assert max(estimate.error for estimate in result.estimates) < bound
    assert result.loss > 1e-6


@pytest.mark.parametrize("renderer", RENDERERS)
def test_wind_shapes_smoke(renderer):
    changes = {"renderer.name": renderer, "seed": 1}
    experiment = build_experiment(load_file(FOLDER / "smoke2d.toml", quick=True, changes=changes))
    result = run_fit(experiment, sure=False)
    assert 0.3 < result.start_loss < 0.4
    assert result.loss < 0.1 * result.start_loss


@pytest.mark.slow
def test_a_tower_of_five_boxes_stands():
    """Simulate five seconds at the default parameters of its boxes: no box drifts by a millimetre."""
    scene = build_scene(load_file(FOLDER / "stack.toml"))
    path, _ = scene.simulate({}, range(0, scene.steps + 1, 100), NoGradient())
    assert scene.steps * scene.dt == pytest.approx(5.0)
    for q, u in path.sets.values():
        assert float((q[:, :, :3] - q[:1, :, :3]).norm(dim=2).max()) < 1e-3
        assert float(u[-1].abs().max()) < 1e-3


def script(name):
    found = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_a_wrong_model_costs_accuracy_and_the_verdict_says_so():
    study = script("imperfect_models")
    right, wrong = (study.fitted("rigid", variant, 1, quick=True) for variant in (None, "unmodelled_friction"))
    assert right["error"] < 1e-6 and right["verdict"] == "green"
    assert wrong["error"] > 1e-3 and wrong["explained"] != "green"


def test_the_mass_of_a_cube_has_one_minimum():
    grids = script("landscapes").mass_grids(8)
    assert len(grids) == 4
    for name, grid in grids.items():
        assert grid.lowest == (1.0,), name
        assert grid.minima() == 1, name


@pytest.mark.slow
def test_both_moduli_of_a_beam_are_lowest_at_the_truth():
    assert script("landscapes").lame_grid(5).lowest == (1000.0, 1000.0)


@pytest.mark.slow
def test_every_cue_comes_nearer_the_mass():
    study = script("shading_cues")
    for cue in study.CUES:
        curve = study.errors(cue, 1, quick=True)
        assert curve[-1] < 0.9 * curve[0], cue


@pytest.mark.slow
@pytest.mark.parametrize("row", ["rigid_as_deformable", "deformable_as_rigid"])
def test_wrong_models_are_not_green(row):
    found = script("imperfect_models").fitted("ball", row, 1, quick=True)
    assert found["explained"] != "green"


def test_learned_baselines_run_beside_ours(tmp_path):
    script("learned_baselines").main(["--quick", "--experiment", "rigid-mass", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "learned-baselines.json").read_text())
    assert [r["videos"] for r in found["learned"]] == [8, 16]
    assert all(math.isfinite(r["error"]) for r in found["learned"])
    (tried,) = found["fits"]
    assert tried["ours"]["error"] < 1e-6
    assert tried["reinforce"]["simulations"] == 32 and math.isfinite(tried["reinforce"]["error"])
    assert "within ten times ours" in (tmp_path / "learned-baselines.md").read_text()


@pytest.mark.parametrize("name", ["control-walker", *(pytest.param(n, marks=pytest.mark.slow) for n in CONTROL[:2])])
def test_the_reduced_version_comes_nearer_its_goal(name):
    study = importlib.util.spec_from_file_location("control_study", FOLDER / "control_study.py")
    module = importlib.util.module_from_spec(study)
    study.loader.exec_module(module)
    found = module.run(name, 1, "pixels", "softras", quick=True)
    assert found["errors"][-1] < 0.5 * found["errors"][0]


def test_the_reduced_reach_comes_near_its_goal():
    found = script("reach_study").run(1, quick=True)
    assert found["return"] > 0.1 * found["curve"][0][1]


def test_the_reduced_crawler_lowers_its_loss():
    result = run_fit(build_experiment(load_file(FOLDER / "soft-crawler.toml", quick=True)), sure=False)
    assert result.loss < 0.9 * result.start_loss


@pytest.mark.slow
def test_the_reduced_cart_is_driven_by_images():
    study = script("cartpole_from_pixels")
    scene, rows = study.learn(0, quick=True)
    assert [row["part"] for row in rows] == ["teacher", "pupil 1", "through the renderer"]
    assert rows[-1]["environment_steps"] > rows[0]["environment_steps"] > 0
    assert scene.policy.observe.frames == 2


@pytest.mark.slow
def test_the_batch_that_ppo_learns_on_has_the_return_of_the_gymnasium_environment(monkeypatch):
    pytest.importorskip("gymnasium", reason="pip install 'diffloom[gym]'")
    monkeypatch.syspath_prepend(FOLDER)
    beside = script("ppo_beside")
    monkeypatch.setattr(beside.Carts, "decisions", 12)
    batch, alone = beside.check(beside.Carts)
    assert batch == pytest.approx(alone, rel=1e-6)
