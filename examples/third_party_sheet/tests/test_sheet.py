"""The command as a user meets it."""

import pytest
from click.testing import CliRunner
from PIL import Image

from diffloom.cli.group import diffloom

SCENE = """
[model]
name = "springs"
positions = [[0.0, 1.0, 0.0], [0.4, 1.0, 0.0]]
springs = [[0, 1]]
fixed = [0]
[time]
dt = "1/240"
steps = 24
[camera]
distance = 2
size = [20, 30]
target = [0.2, 0.8, 0]
"""


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.toml").write_text(SCENE)
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(diffloom, ["sheet", "scene.toml", *arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    ("frames", "columns", "size"), [(6, 3, (90, 40)), (4, 4, (120, 20)), (5, 2, (60, 60)), (2, 3, (90, 20))]
)
def test_frames_stand_in_rows(scene, frames, columns, size):
    said = run("--frames", str(frames), "--columns", str(columns)).output
    assert said == f"drew {frames} frames of 0.1 s into sheet.png\n"
    with Image.open("sheet.png") as found:
        assert found.size == size
        assert found.getextrema() != ((0, 0), (0, 0), (0, 0)), "something is seen"


def test_the_scene_moves(scene):
    run("--frames", "2", "--columns", "1", "--out", "two.png", "--set", "time.steps=96")
    with Image.open("two.png") as found:
        assert found.crop((0, 0, 30, 20)).tobytes() != found.crop((0, 20, 30, 40)).tobytes()


def test_help_lists_it_and_its_options():
    assert "Draw frames of a scene side by side" in CliRunner().invoke(diffloom, ["--help"]).output
    assert "--columns" in CliRunner().invoke(diffloom, ["sheet", "--help"]).output


def test_what_makes_no_sense_is_refused(scene):
    assert "is not in the range" in run("--frames", "1", code=2).output
    result = CliRunner().invoke(diffloom, ["sheet", "nothing.toml"])
    assert "no such file" in str(result.exception)
