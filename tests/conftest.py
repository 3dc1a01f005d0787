"""Environments in which separately installed plugins can be tried, made quickly and without a network."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built without a warning."""
    if find_spec("material") is None:
        pytest.skip("the documentation's theme is not installed: make install-dev")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@dataclass(frozen=True)
class Environment:
    """A virtual environment that sees, through a path file, what the tests' own environment has installed."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Python here with one thread, without the plugin switches of the tests' own environment. Compiled code
        goes to the tests' own cache."""
        kept = {"DIFFLOOM_CACHE_DIR"}
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DIFFLOOM_") or name in kept}
        given = clean | {"DIFFLOOM_NUM_THREADS": "1"} | variables
        return subprocess.run([self.python, *arguments], capture_output=True, text=True, env=given, check=False)

    def diffloom(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "diffloom", *arguments, **variables)

    def pip(self, *arguments: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", "--no-input"]
        subprocess.run([*pip, *arguments], check=True, capture_output=True)

    def install(self, *wheels: Path) -> None:
        self.pip("install", "--no-index", "--no-deps", *map(str, wheels))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A fresh environment for the tests of one module."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    shared = folder / "lib" / version / "site-packages" / "shared.pth"
    shared.write_text(f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n")
    return Environment(folder)


@pytest.fixture(scope="module")
def bare_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A fresh environment that sees the third-party libraries of the tests, and nothing of this project."""
    folder, others = tmp_path_factory.mktemp("bare"), tmp_path_factory.mktemp("others")
    for place in (Path(entry) for entry in sys.path if entry.endswith("site-packages")):
        for path in place.iterdir():
            ours = path.name.startswith(("diffloom", "__editable__")) or path.suffix == ".pth"
            if not ours and not (others / path.name).exists():
                (others / path.name).symlink_to(path)
    venv.create(folder, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "lib" / version / "site-packages" / "others.pth").write_text(f"{others}\n")
    return Environment(folder)


def write_wheel(folder: Path, distribution: str, source: str, plugin: str, module: str | None = None) -> Path:
    """A wheel of one module ``source`` with an entry point ``plugin``; ``module`` may name another, absent one."""
    stem = distribution.replace("-", "_")
    info = f"{stem}-1.0.dist-info"
    files = {
        f"{stem}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[diffloom]\n{plugin} = {module or stem}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    wheel = folder / f"{stem}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


@pytest.fixture(scope="session")
def wheel():
    return write_wheel
