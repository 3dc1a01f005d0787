"""Files for other packagers, which are not built here: image for containers, recipe for conda, workspace of uv."""

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [
    "core",
    *sorted(
        str(p.parent.relative_to(ROOT)) for part in ("libs", "plugins") for p in ROOT.glob(f"{part}/*/pyproject.toml")
    ),
]
#: Names of conda where they differ from those of pip.
CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def project(folder: str) -> dict:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def read_instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile: keyword and rest, with continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def test_the_image_is_made_by_steps_that_exist():
    steps = read_instructions()
    words = [word for word, _ in steps]
    assert words[0] == "FROM" and re.fullmatch(r"python:3\.\d+-[\w-]+", steps[0][1]), "a base image with a version"
    assert set(words) <= {"FROM", "ARG", "ENV", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "CMD"}
    for source in [each for word, rest in steps if word == "COPY" for each in rest.split()[:-1]]:
        assert (ROOT / source).exists(), source
    runs = [shlex.split(part) for word, rest in steps if word == "RUN" for part in rest.split("&&")]
    assert ["diffloom", "demo", "--quick", "--out", "demo"] in runs
    (install,) = [run for run in runs if run[:4] == ["python", "-m", "pip", "install"]]
    assert install[install.index("-c") + 1] == "constraints.txt"
    assert install[install.index("-r") + 1] == "requirements.txt"
    folders = {
        line[len("-e ./") :] for line in (ROOT / "requirements.txt").read_text().splitlines() if line[:2] == "-e"
    }
    assert folders == set(FOLDERS), "the image has every distribution"


def test_the_image_follows_the_rules_of_hadolint():
    steps = read_instructions()
    assert ("ENTRYPOINT", '["diffloom"]') in steps, "arguments as JSON"
    assert all(rest.startswith("/") for word, rest in steps if word == "WORKDIR"), "absolute folders"
    users = [rest for word, rest in steps if word == "USER"]
    assert users and users[-1] != "root"
    (settings,) = [rest for word, rest in steps if word == "ENV"]
    assert "PIP_NO_CACHE_DIR=1" in settings
    assert not any(re.search(r"\b(sudo|cd|apt-get upgrade)\b", rest) for word, rest in steps if word == "RUN")


def read_recipe() -> dict:
    return yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())


def test_the_recipe_agrees_with_the_metadata():
    recipe, root = read_recipe(), project(".")
    assert recipe["package"]["name"] == root["name"]
    assert recipe["context"]["version"] == root["version"]
    assert recipe["about"]["license"] == root["license"]
    assert recipe["about"]["summary"]
    assert recipe["source"]["url"].startswith(root["urls"]["Source"])
    assert re.fullmatch(r"[0-9a-f]{64}", recipe["source"]["sha256"])
    entries = [f"{name} = {place}" for name, place in project("core")["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == entries


def test_the_recipe_installs_every_distribution_with_what_it_requires():
    recipe = read_recipe()
    installed = [word[2:] for word in recipe["build"]["script"].split() if word.startswith("./")]
    assert sorted(installed) == sorted(FOLDERS)
    assert recipe["build"]["script"].endswith(" .")
    needed = {f"python {project('core')['requires-python']}"}
    for folder in [".", *FOLDERS]:
        given = [Requirement(text) for text in project(folder)["dependencies"]]
        needed |= {f"{CONDA.get(one.name, one.name)} {one.specifier}" for one in given if "diffloom" not in one.name}
    assert sorted(recipe["requirements"]["run"]) == sorted(needed)


def test_the_workspace_of_uv_has_every_distribution_and_no_address_of_an_index():
    uv = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]
    members = [
        str(p.relative_to(ROOT))
        for pattern in uv["workspace"]["members"]
        for p in sorted(ROOT.glob(pattern))
        if (p / "pyproject.toml").exists()
    ]
    assert members == FOLDERS
    assert uv["sources"] == {project(folder)["name"]: {"workspace": True} for folder in FOLDERS}
    assert "index" not in uv


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_uv_reads_the_workspace():
    asked = ["uv", "workspace", "list"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if "unrecognized subcommand" in done.stderr:
        pytest.skip("this uv does not list workspaces")
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) >= {project(folder)["name"] for folder in FOLDERS}
