"""Run folders: files written, what survives a kill, and what happens on a bad disk."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from toy_file import TOY

from diffloom.interfaces import InputError
from diffloom_experiments.run_folder import RunFolder, read_history
from diffloom_fitting import files as writing
from diffloom_studio.commands.run import run

FILES = {"config.json", "versions.json", "history.jsonl", "checkpoint.pt", "previous_checkpoint.pt", "result.json",
         "video.mp4", "strip.png", "loss.svg", "parameters.svg", "report.html"}  # fmt: skip


@pytest.fixture
def toy(tmp_path, toy_registry, monkeypatch):
    (tmp_path / "toy.toml").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(run, list(arguments), catch_exceptions=code == 0)
    if code == 0 and done.exception is not None:
        raise done.exception
    assert done.exit_code == code, done.output
    return done.output


def test_a_run_writes_a_complete_folder(toy):
    output = invoke("toy.toml")
    assert "gravity" in output
    assert "report: " in output
    folder = toy / "runs" / "toy"
    assert {p.name for p in folder.iterdir()} == FILES
    result = json.loads((folder / "result.json").read_text())
    assert all(e["error"] < 1e-8 for e in result["estimates"])
    assert result["gradient_check"]["passed"]
    assert result["peak_memory_bytes"] > 1e6
    lines = (folder / "history.jsonl").read_text().splitlines()
    assert len(lines) == result["iterations"]
    assert json.loads((folder / "versions.json").read_text())["diffloom-fitting"]
    invoke("toy.toml", "--quick", "--no-report")
    assert (toy / "runs" / "toy-2" / "result.json").exists()


def test_a_taken_folder_is_not_overwritten(toy):
    invoke("toy.toml", "--quick", "--no-report", "--out", "there")
    before = (toy / "there" / "result.json").read_bytes()
    with pytest.raises(InputError, match="holds a run already; continue it with --resume"):
        invoke("toy.toml", "--quick", "--out", "there", code=1)
    assert (toy / "there" / "result.json").read_bytes() == before


OPTIMISERS = ["gauss_newton", "adam", "lbfgs", "cma", "sgd", "basin_hopping"]


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_resuming_goes_on_to_the_same_bits(toy, optimiser, monkeypatch):
    common = (
        "toy.toml",
        "--no-check",
        "--no-report",
        "--set",
        f"stages.0.optimiser={optimiser}",
        "--set",
        "stages.0.iterations=5",
    )
    invoke(*common, "--out", "whole")

    from diffloom_experiments import run_folder as folder_module

    real, seen = folder_module.write_checkpoint, []

    def interrupt(path, state):
        real(path, state)
        seen.append(state)
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(folder_module, "write_checkpoint", interrupt)
    told = invoke(*common, "--out", "part", code=130)
    assert "continue with: diffloom run --resume" in told
    assert len(read_history(toy / "part" / "history.jsonl")) == 3
    monkeypatch.setattr(folder_module, "write_checkpoint", real)
    invoke("--resume", "part", "--no-report")
    assert bits(toy / "whole") == bits(toy / "part")


def bits(folder: Path) -> list[tuple[object, ...]]:
    records = read_history(folder / "history.jsonl")
    found = json.loads((folder / "result.json").read_text())
    rows = [(r.total, r.loss.hex(), json.dumps(r.values)) for r in records]
    return [*rows, (found["loss"].hex(), json.dumps([e["found"] for e in found["estimates"]]))]


SLOW = """
import sys, time
sys.path.insert(0, {tests!r})
import torch
from application_fixtures import application_registry
from diffloom.plugins import use_registry
from diffloom_studio.commands.run import run
from diffloom_fitting import loop
torch.set_num_threads(1)
real = loop.advance
import diffloom_fitting.fits as fits
def slow(*a):
    time.sleep(0.15)
    return real(*a)
fits.advance = slow
with use_registry(application_registry()):
    run.main(sys.argv[1:], standalone_mode=False)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_loses_at_most_one_iteration(toy, how):
    script = SLOW.format(tests=str(Path(__file__).parents[3] / "tests" / "support"))
    command = [sys.executable, "-c", script]
    options = [
        "toy.toml",
        "--no-check",
        "--no-report",
        "--set",
        "stages.0.optimiser=adam",
        "--set",
        "stages.0.iterations=12",
    ]
    process = subprocess.Popen(
        [*command, *options, "--out", "killed"],
        cwd=toy,
        stdout=subprocess.DEVNULL,
        # Tests that run in the background inherit a SIGINT that is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    history = toy / "killed" / "history.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(read_history(history)) < 4:
        time.sleep(0.02)
    process.send_signal(how)
    process.wait(timeout=120)
    done = len(read_history(history))
    assert 4 <= done < 13
    state, records = RunFolder(toy / "killed").resume()
    assert done - 1 <= state.total <= done
    assert len(records) == state.total
    invoke("--resume", "killed", "--no-report")
    invoke(*options, "--out", "whole")
    assert bits(toy / "whole") == bits(toy / "killed")


def test_a_finished_run_resumes_to_its_report(toy):
    invoke("toy.toml", "--quick", "--out", "done")
    before = bits(toy / "done")
    (toy / "done" / "report.html").unlink()
    invoke("--resume", "done")
    assert bits(toy / "done") == before
    assert (toy / "done" / "report.html").exists()


def test_errors_of_resuming_are_explained(toy):
    with pytest.raises(InputError, match="not a run folder"):
        invoke("--resume", "nowhere", code=1)
    invoke("toy.toml", "--quick", "--no-report", "--out", "damaged")
    (toy / "damaged" / "checkpoint.pt").write_bytes(b"no checkpoint")
    with pytest.raises(InputError, match=r"checkpoint .* is damaged.*the previous one, of iteration \d+, is intact"):
        invoke("--resume", "damaged", code=1)
    assert "leave out other options" in invoke("--resume", "damaged", "--quick", code=2)
    assert "give an experiment FILE" in invoke(code=2)


def test_a_read_only_place_is_explained_and_left_alone(toy, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match=r"read-only disk; choose another folder with --out"):
        invoke("toy.toml", "--quick", "--out", "a/b/c", code=1)
    assert not (toy / "a").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_permission_is_explained(toy):
    locked = toy / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(InputError, match="you may not write there"):
        invoke("toy.toml", "--quick", "--out", str(locked / "run"), code=1)
    assert list(locked.iterdir()) == []


@pytest.mark.parametrize("room", [0, 2, 6])
def test_a_full_disk_leaves_only_complete_files(toy, monkeypatch, room):
    """``room`` files fit on the disk, the next one does not."""
    real, written = writing.os.replace, []

    def replace(source, place):
        if len(written) >= room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(place)
        real(source, place)

    monkeypatch.setattr(writing.os, "replace", replace)
    with pytest.raises(InputError, match="the disk is full; free some space"):
        invoke("toy.toml", "--quick", "--no-check", "--out", "full", code=1)
    monkeypatch.setattr(writing.os, "replace", real)
    if room < 2:
        assert not (toy / "full").exists()
        return
    assert not [p for p in (toy / "full").iterdir() if p.name.startswith(".")]
    for path in (toy / "full").glob("*.json"):
        json.loads(path.read_text())
    if room >= 4:
        invoke("--resume", "full")
        assert (toy / "full" / "report.html").exists()


def test_a_bad_file_makes_no_folder(toy):
    with pytest.raises(InputError):
        invoke("toy.toml", "--set", "camera.size=[0,0]", code=1)
    with pytest.raises(InputError, match="no such file"):
        invoke("none.toml", code=1)
    assert not (toy / "runs").exists()


def test_a_fit_is_watched_by_the_display_live(tmp_path, toy_registry, monkeypatch):
    from diffloom.plugins import hookimpl

    (tmp_path / "toy.toml").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r'the viewer is not installed; pip install "diffloom\[viewer\]"'):
        CliRunner().invoke(run, ["toy.toml", "--view", "--no-report"], catch_exceptions=False)
    told = []

    class Live:
        address = "http://here"

        def __init__(self, experiment):
            told.append(experiment.title)

        def observe(self, state, record):
            told.append(record.total)

        def wait(self):
            told.append("waited")

    class Plugin:
        @hookimpl
        def diffloom_register_displays(self, register):
            register("live", Live, summary="A fake")

    toy_registry.install(Plugin(), "live")
    done = CliRunner().invoke(run, ["toy.toml", "--view", "--no-report", "--quick"], catch_exceptions=False)
    assert "viewer: http://here" in done.output
    assert told[0] == "A thrown triangle"
    assert told[-1] == "waited"
    assert len(told) > 3
