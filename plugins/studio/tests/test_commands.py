import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from toy_file import TOY

from diffloom.interfaces import InputError
from diffloom_fitting.landscape import Axis, LossGrid
from diffloom_studio.commands.files import schema
from diffloom_studio.commands.forward import render, simulate
from diffloom_studio.commands.loss import check_gradient, landscape
from diffloom_studio.commands.many import sweep


@pytest.fixture
def toy(tmp_path, toy_registry, monkeypatch):
    (tmp_path / "toy.toml").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(command, *arguments, code=0):
    done = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def test_simulate_writes_video_and_states(toy):
    output = invoke(simulate, "toy.toml", "--rate", "10", "--truth")
    assert "simulated 10 steps" in output
    states = np.load(toy / "simulated" / "toy" / "states.npz")
    assert states["times"].tolist() == pytest.approx([0.0, 0.08, 0.12, 0.2, 0.28, 0.32, 0.4])
    assert states["q"].shape == (7, 1, 3)
    assert (toy / "simulated" / "toy" / "video.mp4").stat().st_size > 500
    invoke(simulate, "toy.toml", "--no-video", "--out", "only_states")
    assert {p.name for p in (toy / "only_states").iterdir()} == {"states.npz"}


@pytest.mark.parametrize("moment", ["0", "0.3"])
def test_render_draws_one_image(toy, moment):
    invoke(render, "toy.toml", "--time", moment, "--out", "p.png")
    image = np.asarray(Image.open(toy / "p.png"))
    assert image.shape == (16, 16, 4)
    assert image[..., 3].max() > 100
    invoke(render, "toy.toml", "--output", "silhouette", "--out", "s.png")
    assert np.asarray(Image.open(toy / "s.png")).shape == (16, 16)


def test_landscape_has_its_minimum_at_the_truth(toy):
    output = invoke(landscape, "toy.toml", "--over", "drag=0.4:1.2:9", "--out", "l")
    assert "lowest loss" in output
    assert "local minima on the grid: 1" in output
    rows = list(csv.DictReader((toy / "l" / "landscape.csv").open()))
    best = min(rows, key=lambda r: float(r["loss"]))
    assert float(best["drag"]) == pytest.approx(0.8)
    assert (toy / "l" / "landscape.svg").read_text().startswith("<svg")
    invoke(landscape, "toy.toml", "--over", "drag=0.4:1.2:3", "--over", "gravity=4:9:4", "--log", "--out", "m")
    assert len(list(csv.reader((toy / "m" / "landscape.csv").open()))) == 13
    output = invoke(landscape, "toy.toml", "--over", "drag=0.7:0.9:3", "--profile", "--out", "n")
    assert "95 % of drag: " in output
    assert (toy / "n" / "landscape.svg").exists()
    with pytest.raises(InputError, match="not an unknown of the experiment"):
        invoke(landscape, "toy.toml", "--over", "velocity=0:1:3")
    with pytest.raises(InputError, match="LOW:HIGH:COUNT"):
        invoke(landscape, "toy.toml", "--over", "drag=0.4")


def test_minima_are_counted():
    axis = Axis("x", np.arange(7.0))
    assert LossGrid((axis,), np.array([3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 7.0])).minima() == 2


def test_check_gradient_passes_and_fails(toy, monkeypatch):
    output = invoke(check_gradient, "toy.toml")
    assert "passed: worst error" in output
    import fitting_toys

    class Wrong(fitting_toys.ToyRenderer):
        """Draws rightly, but passes on a tenth too much gradient."""

        def render(self, surface, *args, **kwargs):
            vertices = surface.vertices
            bent = vertices + 0.1 * (vertices - vertices.detach())
            return super().render(type(surface)(bent, surface.faces, surface.colours), *args, **kwargs)

    monkeypatch.setattr(fitting_toys, "ToyRenderer", Wrong)
    output = invoke(check_gradient, "toy.toml", "--set", "renderer.name=soft_spots", code=1)
    assert "FAILED" in output


def test_check_gradient_compares_with_wide_differences(toy, monkeypatch):
    output = invoke(check_gradient, "toy.toml", "--wide", "0.02")
    assert "passed: cosine" in output
    assert "length ratio" in output
    assert "0.02" in invoke(check_gradient, "toy.toml", "--wide", "2", code=2)
    from diffloom_testing import WideComparison

    monkeypatch.setattr(WideComparison, "agrees", lambda self: False)
    output = invoke(check_gradient, "toy.toml", "--wide", "0.02", code=1)
    assert "FAILED" in output
    assert "shorter horizon" in " ".join(output.split())


def test_schema_is_json(toy):
    assert json.loads(invoke(schema))["title"] == "ExperimentFile"


def test_sweep_writes_a_table_and_goes_on(toy):
    common = ("toy.toml", "--seeds", "0:3", "--pair", "spots", "--pair", "spots:soft_spots", "--out", "t.md")
    output = invoke(sweep, *common)
    assert output.count("seed") == 6
    table = (toy / "t.md").read_text()
    assert "| spots <- spots | 3 | gravity |" in table
    assert "## spots <- soft_spots" in table
    kept = {p: p.stat().st_mtime_ns for p in (toy / "runs" / "sweeps" / "toy").rglob("*.json")}
    assert len(kept) == 6
    invoke(sweep, *common)
    assert {p: p.stat().st_mtime_ns for p in kept} == kept
    assert (toy / "t.md").read_text() == table
    figures = json.loads((toy / "t.json").read_text())
    assert [(f["pair"], f["seed"]) for f in figures[:4]] == [
        *(("spots <- spots", k) for k in range(3)),
        ("spots <- soft_spots", 0),
    ]
    assert all(f["processor_seconds"] > 0 and f["estimates"][0]["error"] < 1 for f in figures)
    gathered = invoke(sweep, *common, "--seeds", "1:9", "--finished", "--out", "g.md")
    assert gathered.count("seed") == 4
    assert "no fit is finished" in invoke(sweep, *common, "--seeds", "7:9", "--finished", code=1)


def test_a_sweep_may_have_sections_of_its_own(toy):
    invoke(sweep, "toy.toml", "--seeds", "0:2", "--also", "3D states:loss=state", "--out", "t.md")
    figures = json.loads((toy / "t.json").read_text())
    assert {f["pair"] for f in figures} == {"3D states"}
    assert all(e["error"] < 1e-6 for f in figures for e in f["estimates"])
    told = invoke(sweep, "toy.toml", "--also", "nothing", code=2)
    assert "expected LABEL:KEY=VALUE" in told


def test_a_sweep_compares_with_baselines(toy):
    asked = ("toy.toml", "--seeds", "0:3", "--out", "t.md", "--baseline", "state", "--baseline", "cma:0:2")
    output = invoke(sweep, *asked, "--baseline", "differences:1:2")
    assert output.count("seed") == 3 + 3 + 2 + 1
    figures = {}
    for figure in json.loads((toy / "t.json").read_text()):
        figures.setdefault(figure["pair"], []).append(figure)
    assert list(figures) == ["as in the file", "3D states", "CMA-ES", "finite differences"]
    for label in ("3D states", "finite differences"):
        assert all(e["error"] < 1e-5 for f in figures[label] for e in f["estimates"])
    ours = figures["as in the file"]
    for mine, theirs in zip(ours, figures["CMA-ES"], strict=False):
        assert theirs["evaluations"] <= mine["evaluations"] + 1
        assert theirs["loss"] > mine["loss"]
    assert "render" not in figures["3D states"][0]["seconds_by_part"]
    assert "render backward" not in figures["finite differences"][0]["seconds_by_part"]
    told = invoke(sweep, "toy.toml", "--baseline", "guess", code=2)
    assert "expected one of state, cma, differences" in told


def test_every_command_is_registered_where_it_is(toy_registry):
    from diffloom.plugins import COMMANDS

    names = [entry.name for entry in toy_registry.entries(COMMANDS) if entry.origin.plugin == "studio"]
    assert len(names) >= 13
    for name in names:
        assert toy_registry.get(COMMANDS, name).name == name
