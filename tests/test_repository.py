"""House rules that no other tool watches."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
TEXT = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".in", ".cfg", ".html", ".json", ".ini", ".sh", ""}


def tracked() -> list[Path]:
    """The files that git knows, or would take in."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.skip("this is not a git checkout")
    return [path for name in result.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def is_kernel_module(path: Path) -> bool:
    name = path.stem
    return name.startswith("kernels") or name.endswith("_kernels") or "kernels" in path.parts


def test_no_file_names_a_place_on_one_machine():
    place = re.compile(r"""(?<![\w.)}\]/-])/(?:home|Users|root|work|tmp)/[\w.-]""")
    watched = [path for path in tracked() if path.suffix in TEXT and path.name != ".pre-commit-config.yaml"]
    assert len(watched) > 50
    for path in watched:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            assert not place.search(line), f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"


def test_only_kernel_modules_escape_the_type_checker():
    for path in tracked():
        if path.suffix == ".py" and "src" in path.parts and not is_kernel_module(path):
            assert "mypy: ignore-errors" not in path.read_text(), f"{path.relative_to(ROOT)} must be type checked"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    escaping = [name for table in settings["overrides"] if "ignore_errors" in table for name in table["module"]]
    assert escaping
    assert all(is_kernel_module(Path(*name.split("."))) for name in escaping)


def test_modules_are_named_after_what_they_hold():
    vague = {"utils.py", "helpers.py", "misc.py", "common.py"}
    assert not [path for path in tracked() if path.name in vague]


def test_hooks_of_pre_commit_are_local():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert {repository["repo"] for repository in hooks["repos"]} == {"local"}


def test_readme_names_two_commands_that_make_knows():
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"make {target}" in readme
    for target in ("demo", "test", "lint", "wheels", "lock", "bench", "docs", "cuda-check"):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"make {target} is missing"


def test_continuous_integration_runs_lint_and_tests():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make lint\n" in script.read_text()
    assert "make test\n" in script.read_text()
