"""House rules that no other tool watches."""

import ast
import importlib
import pkgutil
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


#: The kernel layer's own device code and extensions of the compiler, which are not known by their names.
DEVICE_CODE = ("algebra.*", "functions", "memory", "rows", "rowtypes", "simd.*", "tangents.*")


def is_kernel_module(path: Path) -> bool:
    return path.stem == "kernels" or path.stem.startswith("kernels_") or path.stem.endswith("_kernels")


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[parts.index("src") + 1 :])


def sources() -> list[Path]:
    folders = [ROOT / "core" / "src", *ROOT.glob("libs/*/src"), *ROOT.glob("plugins/*/src")]
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def test_no_file_names_a_place_on_one_machine():
    place = re.compile(r"""(?<![\w.)}\]/-])/(?:home|Users|root|work|tmp)/[\w.-]""")
    watched = [path for path in tracked() if path.suffix in TEXT and path.name != ".pre-commit-config.yaml"]
    assert len(watched) > 50
    for path in watched:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            assert not place.search(line), f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"


def test_only_kernel_modules_escape_the_type_checker():
    for path in sources():
        assert "mypy: ignore-errors" not in path.read_text(), f"{path.relative_to(ROOT)} must be type checked"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    escaping = [name for table in settings["overrides"] if table.get("ignore_errors") for name in table["module"]]
    by_name = {module_name(path) for path in sources() if is_kernel_module(path)}
    assert len(by_name) > 20
    assert set(escaping) == by_name | {f"diffloom_kernels.{name}" for name in DEVICE_CODE}


def test_only_kernel_modules_escape_linting_formatting_and_coverage():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    kernels = {"kernels.py", "kernels_*.py", "*_kernels.py"}
    listed = {f"diffloom_kernels/{name.replace('.', '/')}" for name in DEVICE_CODE}
    for patterns in (tools["ruff"]["format"]["exclude"], tools["coverage"]["run"]["omit"]):
        plain = {re.sub(r"^(\*\*/|\*/|libs/kernels/src/)", "", pattern) for pattern in patterns}
        assert {pattern.removesuffix(".py") for pattern in plain - kernels} == listed
        assert kernels <= plain


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


@pytest.mark.parametrize(
    "package", ["diffloom_mechanics.contact", "diffloom_mechanics", "diffloom_geometry", "diffloom_kernels"]
)
def test_no_function_hides_a_module_of_its_name(package):
    found = importlib.import_module(package)
    for module in pkgutil.iter_modules(found.__path__):
        value = importlib.import_module(f"{package}.{module.name}")
        assert getattr(found, module.name) is value, f"{package}.{module.name} is a module and something else"


def test_no_function_takes_more_than_twelve_parameters():
    """Outside device bodies: group them in records."""
    seen = 0
    for path in sources():
        if is_kernel_module(path):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = {ast.unparse(mark).split("(")[0] for mark in node.decorator_list}
                given = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                if marks & {"device", "generic", "overload", "intrinsic"} or node.name == "__init__":
                    continue
                seen += 1
                where = f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
                assert len([name for name in given if name not in ("self", "cls")]) <= 12, where
    assert seen > 1000


def test_smoke_goes_through_every_package(repository):
    """One line at least for each, and every file is there: pytest itself refuses a test that is gone."""
    lines = (repository / "tests" / "smoke.txt").read_text().splitlines()
    assert [line for line in lines if not (repository / line.split("::")[0]).exists()] == []
    for project in sorted([*repository.glob("libs/*/pyproject.toml"), *repository.glob("plugins/*/pyproject.toml")]):
        folder = project.parent.relative_to(repository).as_posix()
        assert any(line.startswith(f"{folder}/") for line in lines), folder
    for package in ("cli", "interfaces", "plugins"):
        assert any(line.startswith(f"core/tests/{package}") for line in lines), package
