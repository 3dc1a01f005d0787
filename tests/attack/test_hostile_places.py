"""Real disks that are full or read-only, homes that are missing, and signals while compiling.

Disks are mounted in a namespace of the test's own, where the system allows it; elsewhere these tests are skipped.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
SLOW = pytest.mark.slow
KERNELS = """
from diffloom_kernels import Program, device, launch

@device
def body(i, a, out):
    out[i] = a[i] + a[i]

def doubled(a, out):
    launch(a.shape[0], body, a, out)

program = Program("test_places", (doubled,))
"""
MAIN = """
import numpy as np
from place_kernels import program

a = np.arange(3, dtype=np.float64)
out = np.zeros_like(a)
print("BEGIN", flush=True)
program.run("doubled", a, out, target="serial")
print("RESULT", *out, flush=True)
"""
FIT = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, {support!r})
from application_fixtures import application_registry
from diffloom.interfaces import InputError
from diffloom.plugins import use_registry
from diffloom_studio.commands.run import run

out = Path(sys.argv[1]) / "run"
with use_registry(application_registry()):
    try:
        run.main(["toy.toml", "--quick", "--no-check", "--out", str(out)], standalone_mode=False)
        print("WHOLE")
    except InputError as error:
        print("REFUSED", error)
left = [path for path in out.rglob("*")] if out.exists() else []
assert not [path.name for path in left if path.name.startswith(".")], left
for path in left:
    if path.suffix == ".json":
        json.loads(path.read_text())
print("CLEAN", len(left))
"""


def unshare():
    """Return the beginning of a command that may mount, or None."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return None
    own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    tried = subprocess.run([*own, "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, check=False)
    return own if tried.returncode == 0 else None


@pytest.fixture
def on_disk(tmp_path):
    """Run a Python script with a disk of some options at a folder."""
    own = unshare()
    if own is None:
        pytest.skip("this system lets the test mount no disk")
    place = tmp_path / "disk"
    place.mkdir()

    def run(options, script, *arguments, folder=tmp_path, **settings):
        environment = {k: v for k, v in os.environ.items() if k not in ("DIFFLOOM_CACHE_DIR", "XDG_CACHE_HOME")}
        environment |= {"DIFFLOOM_QUIET": "", **settings}
        command = [*own, "sh", "-c", f'mount -t tmpfs -o {options} none "$0" && exec "$@"', str(place)]
        return subprocess.run(
            [*command, sys.executable, "-c", script, *arguments], env=environment, cwd=folder, capture_output=True,
            text=True, timeout=400, check=False,
        )  # fmt: skip

    run.place = str(place)
    return run


@pytest.fixture
def project(tmp_path):
    (tmp_path / "place_kernels.py").write_text(KERNELS)
    (tmp_path / "main.py").write_text(MAIN)
    return tmp_path


def test_a_read_only_home(on_disk, project):
    done = on_disk("ro", MAIN, HOME=on_disk.place)
    assert done.returncode == 0, done.stderr
    assert "RESULT 0.0 2.0 4.0" in done.stdout
    assert "Set DIFFLOOM_CACHE_DIR to a folder you can write to" in done.stderr
    assert "Read-only" in done.stderr


@SLOW
def test_a_home_that_is_missing(project):
    settings = {k: v for k, v in os.environ.items() if k not in ("DIFFLOOM_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, str(project / "main.py")], env={**settings, "HOME": "/proc/none", "DIFFLOOM_QUIET": ""},
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "RESULT 0.0 2.0 4.0" in done.stdout
    assert "Set DIFFLOOM_CACHE_DIR" in done.stderr


def test_neither_a_home_nor_a_temporary_folder(on_disk, project):
    """The message says which settings help."""
    script = f"import tempfile\ntempfile._candidate_tempdir_list = lambda: [{on_disk.place!r}]\n{MAIN}"
    done = on_disk("ro", script, HOME=on_disk.place)
    assert done.returncode == 1
    assert "InputError" in done.stderr
    assert "set DIFFLOOM_CACHE_DIR, or TMPDIR" in done.stderr


def test_a_cache_on_a_full_disk(on_disk, project):
    listing = "import os\nfor _, _, names in os.walk(os.environ['DIFFLOOM_CACHE_DIR']):\n"
    done = on_disk("size=4k", MAIN + listing + "    print(*names)\n", DIFFLOOM_CACHE_DIR=on_disk.place)
    assert done.returncode == 0, done.stderr
    assert "RESULT 0.0 2.0 4.0" in done.stdout
    assert "No space left" in done.stderr
    assert ".tmp" not in done.stdout


@pytest.mark.parametrize("size", [pytest.param("4k", marks=SLOW), "48k", pytest.param("160k", marks=SLOW)])
def test_a_run_on_a_full_disk(on_disk, project, size):
    """The run ends in words, and every file that is left is whole."""
    from toy_file import TOY

    (project / "toy.toml").write_text(TOY)
    done = on_disk(f"size={size}", FIT.format(support=str(SUPPORT)), on_disk.place)
    assert done.returncode == 0, done.stderr
    assert "REFUSED" in done.stdout, done.stdout
    assert "the disk is full; free some space" in done.stdout
    assert "CLEAN" in done.stdout


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGINT, marks=SLOW), signal.SIGTERM, pytest.param(signal.SIGKILL, marks=SLOW)]
)
def test_a_signal_while_compiling(project, how):
    """The process ends at once, with its children, and the next one finds no damage."""
    settings = {**os.environ, "DIFFLOOM_CACHE_DIR": str(project / "cache"), "DIFFLOOM_QUIET": "1"}

    def begin():
        return subprocess.Popen(
            [sys.executable, str(project / "main.py")], env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    first = begin()
    assert first.stdout.readline() == "BEGIN\n"
    time.sleep(0.3)
    first.send_signal(how)
    rest, _ = first.communicate(timeout=60)
    assert "RESULT" not in rest
    assert first.returncode != 0
    with pytest.raises(ProcessLookupError):  # nothing is left of its session
        os.killpg(first.pid, 0)
    second = begin()
    out, err = second.communicate(timeout=400)
    assert "RESULT 0.0 2.0 4.0" in out, err
