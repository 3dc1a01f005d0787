"""The metadata of all distributions: consistent, complete, and true."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import build_wheels
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from diffloom_kernels.backends.numba_mode import TRIED_NUMBA

ROOT = Path(__file__).resolve().parents[1]
LIBS = sorted(path.parent for path in ROOT.glob("libs/*/pyproject.toml"))
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
PACKAGES = [ROOT / "core", *LIBS, *PLUGINS]
FOLDERS = [ROOT, *PACKAGES]
PLUGIN_MODULES = [path for folder in PACKAGES for path in folder.glob("src/*/plugin.py")]


def metadata(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text())


def requirements(folder: Path) -> list[Requirement]:
    project = metadata(folder)["project"]
    extras = project.get("optional-dependencies", {}).values()
    return [Requirement(text) for text in [*project["dependencies"], *(text for extra in extras for text in extra)]]


def label(folder: Path) -> str:
    return folder.name if folder != ROOT else "root"


def test_the_folders_of_plugins_and_libraries_are_found():
    assert {"fitting", "physics_cloth", "physics_fem", "physics_rigid", "physics_springs"} <= {p.name for p in PLUGINS}
    assert {"render_coverage", "render_dibr", "render_softras"} <= {p.name for p in PLUGINS}
    assert {"geometry", "kernels", "mechanics", "raster", "testing"} == {p.name for p in LIBS}


@pytest.mark.parametrize("folder", FOLDERS, ids=label)
def test_every_distribution_says_who_and_what_it_is(folder):
    project = metadata(folder)["project"]
    assert project["version"] == metadata(ROOT)["project"]["version"]
    assert project["license"] == "MIT"
    assert project["requires-python"] == ">=3.11"
    assert project["description"]
    assert (folder / project["readme"]).read_text().startswith("# diffloom")


@pytest.mark.parametrize("folder", FOLDERS, ids=label)
def test_building_needs_setuptools_and_nothing_else(folder):
    assert metadata(folder)["build-system"]["requires"] == ["setuptools>=77"]


@pytest.mark.parametrize("folder", PACKAGES, ids=label)
def test_tool_settings_are_in_the_root_only(folder):
    tools = metadata(folder).get("tool", {})
    assert {"setuptools"} <= set(tools) <= {"setuptools", "diffloom"}
    assert set(tools.get("diffloom", {})) <= {"public"}
    stray = ["ruff.toml", ".ruff.toml", "mypy.ini", "pytest.ini", "setup.cfg", "tox.ini", ".coveragerc"]
    assert not [name for name in stray if (folder / name).exists()]


@pytest.mark.parametrize("folder", [*LIBS, *PLUGINS], ids=label)
def test_names_follow_the_folder(folder):
    project = metadata(folder)["project"]
    assert project["name"] == "diffloom-" + folder.name.replace("_", "-")
    package = folder / "src" / f"diffloom_{folder.name}"
    assert (package / "py.typed").exists()
    points = project.get("entry-points", {}).get("diffloom", {})
    assert points == ({folder.name.split("_", 1)[-1]: f"{package.name}.plugin"} if points else {})
    assert bool(points) == (package / "plugin.py").exists()
    assert (folder / "tests").is_dir()


@pytest.mark.parametrize(
    "module",
    sorted([*ROOT.glob("libs/*/src/*/plugin.py"), *ROOT.glob("plugins/*/src/*/plugin.py")]),
    ids=lambda path: path.parent.name,
)
def test_a_plugin_module_registers_and_does_nothing_else(module):
    """Keep listing fast: the module imports diffloom.plugins and its own kinds, and has hooks and nothing besides."""
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("diffloom.plugins", f"{module.parent.name}.kinds"), ast.unparse(node)
        elif isinstance(node, ast.FunctionDef):
            assert [ast.unparse(mark) for mark in node.decorator_list] == ["hookimpl"], node.name
            assert re.fullmatch("diffloom_(define_kinds|register_[a-z_]+)", node.name)
        elif isinstance(node, ast.Assign):
            assert ast.unparse(node) == "DIFFLOOM_PLUGIN_API = 3"
        else:
            assert isinstance(node, ast.Expr), ast.unparse(node)
            assert isinstance(node.value, ast.Constant), ast.unparse(node)


@pytest.mark.parametrize("folder", PACKAGES, ids=label)
def test_distributions_of_one_release_go_together(folder):
    major, minor, *_ = metadata(folder)["project"]["version"].split(".")
    for requirement in requirements(folder):
        if requirement.name.startswith("diffloom"):
            assert str(requirement.specifier) == f"<{major}.{int(minor) + 1},>={major}.{minor}", requirement


def eager_imports(tree: ast.Module) -> set[str]:
    """Top-level packages that a module imports at its top, ``try`` blocks excepted."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
    return found


def test_numba_has_a_lower_bound_only_and_the_pinned_one_was_tried():
    """A release that was not tried is met with numba's plain mode."""
    (bound,) = (each.specifier for each in requirements(ROOT / "libs" / "kernels") if each.name == "numba")
    oldest = min(tuple(map(int, release.split("."))) for release in TRIED_NUMBA)
    assert all(bound.contains(f"{release}.1") for release in TRIED_NUMBA)
    assert not bound.contains(f"{oldest[0]}.{oldest[1] - 1}.0")
    assert bound.contains("999.0")
    assert pinned()["numba"] in bound
    assert pinned()["numba"].rsplit(".", 1)[0] in TRIED_NUMBA


#: Modules that numba documents for extensions.
OPEN_NUMBA = {"types", "cgutils", "errors", "datamodel", "typing", "typeconv"}


@pytest.mark.parametrize("folder", PACKAGES, ids=label)
def test_private_parts_of_numba_are_named_in_one_module(folder):
    for source in (folder / "src").rglob("*.py"):
        if source.name == "numba_internals.py":
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba."):
                parts = [f"{node.module}.{name.name}".split(".") for name in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == "numba":
                parts = [["numba", "", name.name] for name in node.names if name.name.startswith("_")]
            else:
                continue
            closed = {part[2] for part in parts if part[1] in ("core", "")} - OPEN_NUMBA
            assert not closed, f"{source.relative_to(ROOT)} takes {closed} from numba: numba_internals.py names them"


@pytest.mark.parametrize("folder", FOLDERS, ids=label)
def test_supported_pythons_equal_those_tested(folder):
    """The matrix of the public workflow, and what the metadata says."""
    said = {text.rsplit(" ", 1)[1] for text in metadata(folder)["project"]["classifiers"] if " :: 3." in text}
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert said == set(re.findall(r'"(3\.\d+)"', workflow))


UNIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


@pytest.mark.parametrize("folder", PACKAGES, ids=label)
def test_nothing_needs_unix_to_be_imported(folder):
    for source in (folder / "src").rglob("*.py"):
        found = eager_imports(ast.parse(source.read_text())) & UNIX_ONLY
        assert not found, f"{source.relative_to(ROOT)} imports {found}, which is not on every system"


def test_the_extra_all_and_the_development_install_cover_every_plugin():
    extras = metadata(ROOT)["project"]["optional-dependencies"]

    def expand(name: str) -> set[str]:
        covered = set()
        for text in extras[name]:
            requirement = Requirement(text)
            is_self = requirement.name == "diffloom"
            covered |= set().union(*map(expand, requirement.extras)) if is_self else {requirement.name}
        return covered

    required = {metadata(folder)["project"]["name"]: folder for folder in PACKAGES}
    covered, rest = set(), [*expand("all"), "diffloom-core"]
    while rest:
        name = rest.pop()
        if name in required and name not in covered:
            covered.add(name)
            rest += [requirement.name for requirement in requirements(required[name])]
    assert covered == set(required)
    everything = (ROOT / "requirements.txt").read_text()
    for folder in PACKAGES:
        assert f"-e ./{folder.relative_to(ROOT)}\n" in everything
        packages = [path.name for path in (folder / "src").iterdir() if (path / "py.typed").exists()]
        assert set(packages) <= set(metadata(ROOT)["tool"]["coverage"]["run"]["source_pkgs"])


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


@pytest.mark.parametrize("folder", FOLDERS, ids=label)
def test_every_requirement_is_pinned_within_its_range(folder):
    needed = {Requirement(text).name for text in metadata(folder)["project"]["dependencies"]}
    for requirement in requirements(folder):
        version = pinned().get(canonicalize_name(requirement.name))
        ours, optional = requirement.name.startswith("diffloom"), requirement.name not in needed and folder != ROOT
        # Requirements of a plugin's extra are not part of the development set.
        assert version or ours or optional, f"constraints.txt does not pin {requirement}: run make lock"
        assert version is None or requirement.specifier.contains(version), f"{requirement} does not admit {version}"


def test_the_lock_keeps_fixed_versions():
    for line in (ROOT / "constraints.in").read_text().splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            assert requirement.specifier.contains(pinned()[canonicalize_name(requirement.name)])


def test_metadata_keep_loose_ranges():
    for folder in PACKAGES:
        exact = [
            str(requirement) for requirement in requirements(folder) if re.search("==|~=", str(requirement.specifier))
        ]
        assert not exact, f"{folder.name} pins {exact}; constraints.txt is the place for that"


def test_the_environment_is_consistent():
    result = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("folder", PACKAGES, ids=label)
def test_every_distribution_has_the_licence_and_the_addresses_of_the_project(folder):
    assert metadata(folder)["project"]["urls"] == metadata(ROOT)["project"]["urls"]
    assert metadata(folder)["project"]["license-files"] == ["LICENSE"]
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("folder", FOLDERS, ids=label)
def test_links_of_a_readme_become_absolute(folder):
    page = build_wheels.link_absolutely((folder / "README.md").read_text(), folder, ROOT)
    targets = re.findall(r"\]\(([^)\s]+)", page)
    assert not [target for target in targets if not target.startswith(("https://", "#"))]
    version = metadata(ROOT)["project"]["version"]
    ours = [target for target in targets if target.startswith(metadata(ROOT)["project"]["urls"]["Source"])]
    for target in ours:
        kind, place = re.fullmatch(
            rf".*/diffloom/(raw|blob|tree)/v{re.escape(version)}/([^#]+)(?:#.*)?", target
        ).groups()
        assert (ROOT / place).is_dir() == (kind == "tree"), target
        assert (ROOT / place).exists() and (kind == "raw") == place.endswith((".png", ".webp")), target


def test_a_link_that_leads_nowhere_stops_the_build():
    with pytest.raises(FileNotFoundError, match="nowhere.md"):
        build_wheels.link_absolutely("[a](nowhere.md)", ROOT, ROOT)


def test_an_image_that_is_a_link_becomes_absolute_twice():
    page = build_wheels.link_absolutely("[![a](docs/images/demo.png)](docs/index.md#four-parts)", ROOT, ROOT)
    assert re.fullmatch(r"\[!\[a\]\(https://\S+/raw/\S+demo.png\)\]\(https://\S+/blob/\S+index.md#four-parts\)", page)


def test_built_wheels_have_licence_addresses_and_a_page_that_an_index_takes(tmp_path):
    build_wheels.build(tmp_path, {"core", "physics_fem"})
    wheels = sorted(tmp_path.glob("*.whl"))
    assert [wheel.name.split("-")[0] for wheel in wheels] == ["diffloom_core", "diffloom_physics_fem"]
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            (place,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            headers = message_from_bytes(archive.read(place))
            licence = archive.read(f"{Path(place).parent.as_posix()}/licenses/LICENSE")
        assert licence == (ROOT / "LICENSE").read_bytes()
        found = dict(text.split(", ", 1) for text in headers.get_all("Project-URL"))
        assert found == metadata(ROOT)["project"]["urls"]
        assert "](https://" in headers.get_payload() and "](.." not in headers.get_payload()
    checked = [sys.executable, "-m", "twine", "check", "--strict", *map(str, wheels)]
    result = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


#: Extras that `all` leaves out, because they need the GPU to match, or exclude each other.
WITH_A_GPU = {("diffloom-kernels", "cuda"), ("diffloom-kernels", "cuda-mlir")}


def test_the_extra_all_brings_every_extra():
    asked = [Requirement(text) for text in metadata(ROOT)["project"]["optional-dependencies"]["all"]]
    brought = {(requirement.name, extra) for requirement in asked for extra in requirement.extras}
    projects = [metadata(folder)["project"] for folder in PACKAGES]
    offered = {(project["name"], extra) for project in projects for extra in project.get("optional-dependencies", {})}
    assert brought - {("diffloom", "plugins")} == offered - WITH_A_GPU


def test_a_plain_install_brings_what_the_demo_needs():
    project = metadata(ROOT)["project"]
    names = {Requirement(text).name for text in project["dependencies"]}
    demo = tomllib.loads((ROOT / "plugins/studio/src/diffloom_studio/demo/demo.toml").read_text())
    renderers = {name for name, settings in demo["renderer"].items() if isinstance(settings, dict)}
    needed = {f"diffloom-render-{name}" for name in renderers} | {f"diffloom-physics-{demo['model']['name']}"}
    assert needed | {"diffloom-core", "diffloom-studio"} == names
