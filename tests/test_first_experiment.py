"""The newcomer's path, README and "Your first experiment": short enough to read in five minutes, and every command and
file on it works as it stands."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from diffloom.cli.group import diffloom

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PAGE = (ROOT / "docs" / "first_experiment.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
COMMANDS = [line for kind, body in BLOCKS if kind == "console" for line in body.splitlines()]
SLOW, MINUTES = 200, 5  # words a minute of a slow reader


def words(text: str) -> int:
    return len(re.findall(r"\w[\w'’.-]*", text))


def test_the_path_takes_five_minutes_to_read():
    """README down to where it leads to the page, code included, and the whole page."""
    before, _, _ = README.partition("\n## What it does")
    assert "(docs/first_experiment.md)" in before
    assert words(before) + words(PAGE) <= SLOW * MINUTES


def test_the_first_screen_is_a_sentence_an_image_two_commands_and_eight_lines():
    """The order of things, and how much of each; a window of 1200 x 800 shows all of it."""
    kinds = re.findall(r"^(# |!\[|```\w*$|## )", README, flags=re.MULTILINE)[:7]
    assert kinds == ["# ", "![", "```", "```", "```python", "```", "## "]
    sentence = README.split("\n\n")[1]
    assert sentence.count(". ") == 0 and sentence.endswith(".")
    commands, python = (
        body for _, body in re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    )
    assert [line.split("#")[0].split() for line in commands.splitlines()] == [["make", "demo"], ["make", "test"]]
    assert len([line for line in python.splitlines() if line]) <= 8
    assert max(len(line) for line in python.splitlines()) <= 104, "what is longer is cut off on a forge's page"


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_has_both_commands_of_the_readme(target):
    """Show the commands that make would run; tests of the demo, and this run, do the rest."""
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("diffloom demo" if target == "demo" else "pytest") in done.stdout


def test_the_first_experiment_begins_with_the_install_commands():
    assert COMMANDS[:2] == ["make demo", ". .venv/bin/activate"]
    assert all(line.startswith("diffloom ") for line in COMMANDS[2:])


def test_following_the_page_finds_the_stiffness(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, body in BLOCKS:
        if kind == "toml":
            (tmp_path / "cube.toml").write_text(body)
            continue
        for line in body.splitlines():
            if line.startswith("diffloom "):
                done = CliRunner().invoke(diffloom, shlex.split(line)[1:])
                assert done.exit_code == 0, f"$ {line}\n{done.output[-3000:]}"
    assert (tmp_path / "recorded" / "video.mp4").stat().st_size > 1000
    for name, within in (("cube", 1e-3), ("recorded", 0.03)):
        folder = tmp_path / "runs" / name
        result = json.loads((folder / "result.json").read_text())
        (found,) = result["estimates"]
        assert found["found"] == pytest.approx(4000.0, rel=within), name
        assert result["verdict"]["level"] == "green", name
        assert "A jelly cube falls" in (folder / "report.html").read_text()


FILES = (ROOT / "docs" / "first_files.md").read_text()
HEADINGS = ["A thrown box", "A curtain", "A pendulum", "A mesh of your own"]


@pytest.mark.parametrize("heading", HEADINGS)
def test_each_file_to_start_from_ends_green_and_right(heading, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert re.findall(r"^## (.*)$", FILES, flags=re.MULTILINE) == HEADINGS
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", FILES, flags=re.DOTALL | re.MULTILINE)
    for line in re.findall(r'^python -c "(.*)"$', section, flags=re.MULTILINE):
        exec(line)
    (name,) = re.findall(r"^`(\w+\.toml)`", section, flags=re.MULTILINE)
    (body,) = re.findall(r"^```toml\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / name).write_text(body)
    done = CliRunner().invoke(diffloom, ["run", name, "--no-report"])
    assert done.exit_code == 0, done.output[-3000:]
    result = json.loads((tmp_path / "runs" / Path(name).stem / "result.json").read_text())
    assert result["verdict"]["level"] == "green", done.output[-3000:]
    assert max(one["error"] for one in result["estimates"]) < 1e-6
