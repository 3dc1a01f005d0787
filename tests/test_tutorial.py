"""The tutorial, followed to the letter: its commands are typed, its files are pasted, and the wind is found.

By default in an environment that borrows what the tests' own has installed, which needs no network; `-m slow` does it
in a truly fresh one, with wheels of this repository and everything else from wherever pip is configured to look.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = (ROOT / "docs" / "guide" / "tutorial.md").read_text()
BLOCKS = re.findall(r"(?:`([^`\n]+)`:\n\n)?^~~~(\w+)\n(.*?)^~~~$", TUTORIAL, flags=re.DOTALL | re.MULTILINE)


def follow(folder: Path, variables: dict[str, str], prepare=lambda folder: None) -> str:
    """Do what the tutorial says, line by line; ``prepare`` is called once the environment has been made."""
    said = []
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for file, kind, body in BLOCKS:
        if kind != "console":
            target = folder / file
            known = target.exists() or target.name in ("balloon.toml", "kernels.py")
            assert known, f"{file} is not among the files that were written"
            target.write_text(body)
            continue
        for line in body.splitlines():
            script = f"set -e\n[ -f weave/bin/activate ] && . weave/bin/activate\n{line}\n"
            result = subprocess.run(
                ["bash", "-c", script], cwd=folder, env={**variables, "PATH": path}, capture_output=True, text=True
            )
            assert result.returncode == 0, f"$ {line}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
            said.append(result.stdout)
            if line.startswith("python3 -m venv"):
                prepare(folder)
    return "\n".join(said)


def check_what_came_of_it(folder: Path, said: str) -> None:
    assert re.search(r"model +balloon", said), "the model is listed"
    assert re.search(r"\d+ checks ran: \d+ passed, 0 failed, \d+ skipped", said)
    assert re.search(r"\d\d+ passed", said), "its own tests passed"
    assert (folder / "recorded" / "video.mp4").stat().st_size > 1000
    assert "A balloon in the wind" in (folder / "found" / "report.html").read_text()
    (wind,) = json.loads((folder / "found" / "result.json").read_text())["estimates"]
    assert (wind["name"], wind["start"]) == ("wind", 0.5)
    assert abs(wind["found"] - 1.2) < 0.02, wind


def test_the_page_has_files_to_paste_and_commands_to_type():
    assert [file for file, kind, _ in BLOCKS if kind != "console"][-1] == "balloon.toml"
    assert all(file for file, kind, _ in BLOCKS if kind != "console"), "every file's block says where it goes"
    assert not re.search(r"^```", TUTORIAL, flags=re.MULTILINE), "blocks of the tutorial are fenced by ~~~"


def borrow(folder: Path) -> None:
    """Show the new environment the packages installed here, as if pip had put it there."""
    (site,) = (folder / "weave" / "lib").glob("python*/site-packages")
    # venv may bring an old setuptools, which would hide the one that is borrowed.
    for own in [*site.glob("setuptools*"), *site.glob("_distutils_hack"), *site.glob("distutils-precedence.pth")]:
        shutil.rmtree(own) if own.is_dir() else own.unlink()
    (site / "borrowed.pth").write_text(f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n")
    for name, module in (("diffloom", "diffloom"), ("pytest", "pytest")):
        script = folder / "weave" / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{folder}/weave/bin/python" -m {module} "$@"\n')
        script.chmod(0o755)


def test_the_tutorial_works(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DIFFLOOM_", "PYTEST"))}
    # Environment variables of pip: the last one reads the wrong way round, and means --no-build-isolation.
    offline = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    check_what_came_of_it(tmp_path, follow(tmp_path, {**kept, **offline, "DIFFLOOM_NUM_THREADS": "1"}, borrow))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_tutorial_works_in_a_fresh_environment(tmp_path):
    wheels, copy = tmp_path / "wheels", tmp_path / "source"
    leave = shutil.ignore_patterns(".*", "build", "dist", "wheels", "site", "tests", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=leave)
    sources = [copy, copy / "core", *sorted((copy / "libs").iterdir()), *sorted((copy / "plugins").iterdir())]
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(wheels)]
    subprocess.run([*pip, *map(str, sources)], check=True)
    folder = tmp_path / "empty"
    folder.mkdir()
    hidden = ("DIFFLOOM_", "PYTEST", "PYTHON", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    links = f"{wheels} {os.environ.get('PIP_FIND_LINKS', '')}".strip()
    said = follow(folder, {**kept, "PIP_FIND_LINKS": links, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")})
    check_what_came_of_it(folder, said)
