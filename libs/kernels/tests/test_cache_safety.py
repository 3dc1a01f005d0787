"""The folder of compiled code: other users cannot write into it, and damage in it costs a compilation and
nothing more.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = """
from diffloom_kernels import Program, device, launch

@device
def body(i, a, out):
    out[i] = a[i] + a[i]

def doubled(a, out):
    launch(a.shape[0], body, a, out)

program = Program("test_safe", (doubled,))
"""
WIDTHS = """
import sys
import numpy as np
from safe_kernels import program

for width in map(int, sys.argv[1:]):
    a = np.arange(4.0 * width).reshape(4, width)
    out = np.zeros_like(a)
    program.run("doubled", a, out, target="serial")
    assert np.array_equal(out, 2 * a)
print("RESULT 0.0 2.0 4.0")
"""
MAIN = """
import numpy as np
from safe_kernels import program

a = np.arange(3, dtype=np.float64)
out = np.zeros_like(a)
program.run("doubled", a, out, target="serial")
print("RESULT", *out)
"""
ROWS = """
    for k in range(a.shape[1]):
        out[i, k] = a[i, k] + a[i, k]"""
POSIX = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of files are POSIX")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "safe_kernels.py").write_text(KERNELS)
    (folder / "main.py").write_text(MAIN)
    return folder


def run(
    project: Path, cache: Path | None, arguments: tuple[str, ...] = (), **environment: str | None
) -> subprocess.CompletedProcess:
    settings = {**os.environ, "DIFFLOOM_QUIET": "", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    settings["DIFFLOOM_CACHE_DIR"] = None if cache is None else str(cache)
    return subprocess.run(
        [sys.executable, str(project / "main.py"), *arguments],
        env={name: value for name, value in settings.items() if value is not None},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


def code_files(cache: Path) -> list[Path]:
    """Return the files of compiled code below a cache."""
    return [path for path in cache.rglob("*") if path.is_file() and path.suffix not in (".py", ".lock")]


def all_files(cache: Path) -> list[Path]:
    """Return the files of compiled code and generated source below a cache."""
    return [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]


def compiled(done: subprocess.CompletedProcess) -> bool:
    assert done.returncode == 0, done.stderr
    assert "RESULT 0.0 2.0 4.0" in done.stdout
    return "compiling test_safe" in done.stderr


@pytest.fixture(scope="module")
def filled(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with one program in it."""
    cache = tmp_path_factory.mktemp("filled") / "cache"
    assert compiled(run(project, cache))
    assert not compiled(run(project, cache))
    return cache


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x10]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [_cut, _flipped, lambda content: b"", lambda content: b"\x00" * len(content), lambda content: content + b"more"],
    ids=["truncated", "flipped", "empty", "zeros", "longer"],
)
def test_damaged_code_is_compiled_anew_and_replaced(project, filled, damage):
    for path in all_files(filled):
        path.write_bytes(damage(path.read_bytes()))
    assert compiled(run(project, filled))
    assert not compiled(run(project, filled))


def test_code_is_not_taken_for_that_of_other_types(project, tmp_path):
    """Arrays of rows of three are a type of their own to the compiler and look like ordinary arrays in print."""
    (project / "main.py").write_text(WIDTHS)
    (project / "safe_kernels.py").write_text(KERNELS.replace("out[i] = a[i] + a[i]", ROWS.strip()))
    try:
        for width in ("3", "2", "3"):
            done = run(project, tmp_path / "cache", arguments=(width,))
            assert done.returncode == 0, done.stderr
    finally:
        (project / "main.py").write_text(MAIN)
        (project / "safe_kernels.py").write_text(KERNELS)


class Payload:
    """Payload that an attacker would put in place of compiled code."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_foreign_pickle_is_not_opened(project, filled, tmp_path):
    """Not even from the user's own folder: what does not carry our mark and checksum is no compiled code."""
    for path in code_files(filled):
        path.write_bytes(pickle.dumps(Payload(tmp_path / "ran")))
    assert compiled(run(project, filled))
    assert not (tmp_path / "ran").exists()


@POSIX
def test_a_folder_that_others_may_write_to_is_refused(project, tmp_path):
    for mode in (0o777, 0o770, 0o757):
        cache = tmp_path / f"cache_{mode:o}"
        cache.mkdir()
        cache.chmod(mode)
        done = run(project, cache)
        assert done.returncode != 0
        assert "other users may write" in done.stderr and "chmod" in done.stderr and "DIFFLOOM_CACHE_DIR" in done.stderr
        assert not code_files(cache)


@POSIX
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_refused(project, tmp_path):
    cache = tmp_path / "cache"
    (cache / "kernels").mkdir(parents=True, mode=0o700)
    os.chown(cache / "kernels", 65534, 65534)
    done = run(project, cache)
    assert done.returncode != 0
    assert "belongs to another user" in done.stderr and "DIFFLOOM_CACHE_DIR" in done.stderr


@POSIX
def test_folders_are_made_for_the_user_alone(project, filled):
    for folder in (filled, filled / "kernels"):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in code_files(filled))


@POSIX
def test_a_file_that_others_may_write_to_is_not_run(project, filled):
    for path in code_files(filled):
        path.chmod(0o666)
    assert compiled(run(project, filled))
    assert not compiled(run(project, filled))


@POSIX
def test_links_out_of_the_folder_are_not_followed(project, filled, tmp_path):
    for path in code_files(filled):
        elsewhere = tmp_path / path.name
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
    assert compiled(run(project, filled))


@POSIX
def test_without_a_home_the_process_uses_a_folder_of_its_own(project):
    nobody = {"HOME": None, "XDG_CACHE_HOME": None}
    script = "import os, pwd\ndef gone(*a): raise KeyError\npwd.getpwuid = gone\n" + MAIN
    (project / "homeless.py").write_text(script)
    settings = {k: v for k, v in os.environ.items() if k not in (*nobody, "DIFFLOOM_CACHE_DIR")}
    done = subprocess.run(
        [sys.executable, str(project / "homeless.py")], env={**settings, "DIFFLOOM_QUIET": ""}, capture_output=True,
        text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "RESULT 0.0 2.0" in done.stdout and "Set DIFFLOOM_CACHE_DIR" in done.stderr


FULL = """
import errno, os, tempfile
real = os.write
import diffloom_kernels.compile.cache as cache

def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")

cache.cache_folder()
tempfile.mkstemp = full
"""


def test_a_full_disk_costs_the_keeping_only(project, tmp_path):
    (project / "full.py").write_text(FULL + MAIN)
    settings = {**os.environ, "DIFFLOOM_QUIET": "", "DIFFLOOM_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(project / "full.py")], env=settings, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "RESULT 0.0 2.0" in done.stdout
    assert "cannot keep compiled code" in done.stderr and "No space left" in done.stderr
