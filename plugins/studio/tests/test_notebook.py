"""Displays of notebooks, progress of a fit, and results that are saved and loaded."""

import json
import sys
from types import SimpleNamespace

import pytest
import torch
from fitting_toys import ToyModel, ToyRenderer

import diffloom_fitting as fitting
from diffloom_experiments.run_folder import FolderError


@pytest.fixture(scope="module")
def scene():
    model = ToyModel()
    params = model.params(velocity=[0.4, 1.0, 0.0], dtype=torch.float64)
    view = fitting.Orbit(distance=4.0, elevation=0.0, size=(24, 32))
    return fitting.Scene(model, ToyRenderer(), view, params, dt=0.02, steps=20, integrator="toy_steps")


@pytest.fixture
def fitted(scene, toy_registry):
    target = fitting.synthesise(scene, {"gravity": 6.0}, rate=20)
    return target, fitting.fit(scene, target, {"gravity": 9.0})


def test_a_target_shows_its_video(fitted):
    html = fitted[0]._repr_html_()
    assert "data:video/mp4;base64," in html
    assert "<td>32 × 24</td>" in html
    assert "true gravity" in html
    views = fitting.Targets({"front": fitted[0]})._repr_html_()
    assert "<h4>front</h4>" in views


def test_a_scene_shows_its_parameters_with_units(scene):
    html = scene._repr_html_()
    assert "<td>gravity</td><td>9.81</td><td>m/s²</td><td>downward acceleration</td>" in html
    assert "20 steps of 0.02 s" in html


def test_a_result_shows_verdict_table_and_loss(fitted):
    html = fitted[1]._repr_html_()
    assert "verdict: " in html
    assert "<svg" in html
    assert "<td>gravity</td>" in html


def test_parameters_and_surfaces_show(scene, toy_registry):
    assert "<td>velocity</td><td>(0.4, 1, 0)</td>" in scene.params._repr_html_()
    with torch.no_grad():
        trajectory, params = scene.simulate({}, (0, 10))
    html = scene.model.surface(trajectory, params)._repr_html_()
    assert "<td>frames</td><td>2</td>" in html
    assert html.count("<polygon") == 1


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a.nan_to_num(-7.0), b.nan_to_num(-7.0))
    return a == b


def test_a_result_is_saved_and_loaded_to_the_bit(fitted, tmp_path):
    result = fitted[1]
    again = fitting.Result.load(result.save(tmp_path / "kept"))
    assert str(again) == str(result)
    assert again.history == result.history
    assert same(result.z, again.z)
    for one, other in zip(result.estimates, again.estimates, strict=True):
        assert all(same(getattr(one, name), getattr(other, name)) for name in ("start", "found", "deviation", "truth"))
    for name, value in vars(result.uncertainty).items():
        kept = getattr(again.uncertainty, name)
        assert all(same(value[k], kept[k]) for k in value) if name == "deviation" else same(value, kept), name
    assert again.verdict == result.verdict
    assert again.gradient == result.gradient


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"dtype": "int8"}', '{"dtype": "save"}'])
def test_a_broken_result_is_refused(tmp_path, text):
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(FolderError, match="no result"):
        fitting.Result.load(tmp_path)


def test_a_folder_without_a_result_is_refused(tmp_path):
    with pytest.raises(FolderError, match="no such file"):
        fitting.Result.load(tmp_path / "nowhere")


def test_progress_is_shown_when_wanted(scene, toy_registry, capsys):
    target = fitting.synthesise(scene, {"gravity": 6.0}, rate=20)
    fitting.fit(scene, target, {"gravity": 9.0}, iterations=2)
    assert capsys.readouterr().err == ""
    seen = []
    fitting.fit(scene, target, {"gravity": 9.0}, iterations=2, progress=True, observer=lambda s, r: seen.append(r))
    assert "GaussNewton" in capsys.readouterr().err
    assert [r.iteration for r in seen] == [0, 1, 2]


def test_a_notebook_gets_one_bar_that_moves(scene, toy_registry, monkeypatch):
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        shown.append(html)
        return Handle()

    module = SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=module))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    target = fitting.synthesise(scene, {"gravity": 6.0}, rate=20)
    fitting.fit(scene, target, {"gravity": 9.0}, iterations=3)
    assert 'value="0"' in shown[0]
    assert "fitted: loss" in shown[-1]
    assert all("gravity" in html for html in shown[1:])


def test_the_result_of_a_run_is_data(fitted, tmp_path):
    data = json.loads((fitted[1].save(tmp_path) / "result.json").read_text())
    assert data["z"] == fitted[1].z.tolist()
    assert data["gradient_check"] == "not asked for" or data["gradient_check"]["rows"]
