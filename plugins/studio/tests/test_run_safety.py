"""Damaged and made-up run folders: refused by name, with what to do, and never a traceback or a silent yes."""

import dataclasses
import errno
import io
import json
import math
import os
import random
import subprocess
import sys

import pytest
import torch
from test_run import bits, invoke
from toy_file import TOY

from diffloom_experiments.run_folder import (
    FolderError,
    RunFolder,
    get_previous_path,
    read_checkpoint,
    read_history,
    write_checkpoint,
)
from diffloom_fitting.checkpoints import append_record
from diffloom_fitting.loop import FitState, Record, StartOutcome
from diffloom_fitting.optimisers import Progress
from diffloom_scale.sweeps import _checksum, read_outcome, write_outcome

SEED = 20


def state(total: int = 3) -> FitState:
    z = torch.arange(4, dtype=torch.float64) + total
    return FitState(
        z, total=total, iteration=total, losses=(1.0, 0.5), best=(0.5, z), outcomes=(StartOutcome(0, z, 0.5, "rest"),)
    )


def record(total: int) -> Record:
    return Record(total, 0, 0, "adam", total, 0.5, {"gravity": [9.81]}, 0.1, 0.2, 1, 0, 1.0)


def same(a: FitState, b: FitState) -> bool:
    return torch.equal(a.z, b.z) and a.total == b.total and a.losses == b.losses and len(a.outcomes) == len(b.outcomes)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """A copy that differs: cut off, with a flipped bit, with bytes put in or taken away."""
    at = draw.randrange(len(content))
    kind = draw.randrange(4)
    if kind == 0:
        return content[:at]
    if kind == 1:
        return content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]
    if kind == 2:
        return content[:at] + draw.randbytes(draw.randrange(1, 40)) + content[at:]
    return content[:at] + content[at + draw.randrange(1, 40) :]


def test_every_damaged_checkpoint_is_refused_and_the_one_before_offered(tmp_path):
    path, draw = tmp_path / "checkpoint.pt", random.Random(SEED)
    write_checkpoint(path, state(2))
    write_checkpoint(path, state(3))
    whole = path.read_bytes()
    assert same(read_checkpoint(path), state(3))
    for number in range(400):
        path.write_bytes(damaged(whole, draw))
        if path.read_bytes() == whole:
            continue
        with pytest.raises(FolderError, match=r"checkpoint .*checkpoint\.pt.*the previous one, of iteration 2"):
            read_checkpoint(path)
        assert number >= 0
    os.replace(get_previous_path(path), path)
    assert same(read_checkpoint(path), state(2))


def test_when_both_are_damaged_that_is_said(tmp_path):
    path = tmp_path / "checkpoint.pt"
    for content in (b"", b"x" * 100):
        path.write_bytes(content)
        get_previous_path(path).write_bytes(content)
        with pytest.raises(FolderError, match="no usable checkpoint before it"):
            read_checkpoint(path)


def test_a_crash_between_two_checkpoints_loses_neither(tmp_path):
    path = tmp_path / "checkpoint.pt"
    write_checkpoint(path, state(2))
    os.replace(path, get_previous_path(path))
    assert same(read_checkpoint(path), state(2))


class Payload:
    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def made_up(path, content: bytes) -> None:
    """A file with a right head and checksum, as a stranger could make."""
    import hashlib

    head = f"diffloom checkpoint 1 sha256 {hashlib.sha256(content).hexdigest()}\n".encode()
    path.write_bytes(head + content)


def test_made_up_checkpoints_run_no_code_and_hold_states_only(tmp_path):
    path, mark = tmp_path / "checkpoint.pt", tmp_path / "ran"
    for value in (
        Payload(str(mark)), {"kind": "state", "fields": {"z": Payload(str(mark))}}, [1, 2], {"kind": "nobody"},
        {"kind": "state", "fields": {"z": "a vector"}}, {"kind": "state", "fields": {"z": torch.zeros(2, 2)}},
        {"kind": "state", "fields": {"z": torch.zeros(2), "total": -5}},
        {"kind": "state", "fields": {"z": torch.zeros(2), "outcomes": {"kind": "tuple", "items": [3]}}},
        {"kind": "state", "fields": {"z": torch.zeros(2), "nothing": 1}},
    ):  # fmt: skip
        buffer = io.BytesIO()
        torch.save(value, buffer)
        made_up(path, buffer.getvalue())
        with pytest.raises(FolderError, match="holds no state of a fit"):
            read_checkpoint(path)
    made_up(path, b"PK\x03\x04 not a zip file")
    with pytest.raises(FolderError, match="holds no state of a fit"):
        read_checkpoint(path)
    path.write_bytes(b"diffloom checkpoint 7 sha256 " + b"0" * 64 + b"\n")
    with pytest.raises(FolderError, match="has version 7, and this diffloom reads version 1"):
        read_checkpoint(path)
    assert not mark.exists()


def test_progress_survives(tmp_path):
    path = tmp_path / "checkpoint.pt"
    progress = Progress(torch.zeros(2), 1.0, torch.ones(2), {"m": torch.zeros(2), "t": 3})
    write_checkpoint(path, dataclasses.replace(state(), progress=progress))
    assert read_checkpoint(path).progress.value == 1.0


def test_every_damaged_line_of_a_history_is_named(tmp_path):
    path, draw = tmp_path / "history.jsonl", random.Random(SEED)
    for total in range(1, 6):
        append_record(path, record(total))
    whole, told = path.read_bytes(), ""
    assert read_history(path) == [record(k) for k in range(1, 6)]
    for _ in range(400):
        path.write_bytes(damaged(whole, draw))
        try:
            found = read_history(path)
        except FolderError as error:
            told += f"{error}\n"
            continue
        assert found == [record(k) for k in range(1, len(found) + 1)]  # cut off at the end: the rest is true
    assert all("history.jsonl', line " in line for line in told.splitlines()) and told


def test_a_cut_off_last_line_is_ignored(tmp_path):
    path = tmp_path / "history.jsonl"
    append_record(path, record(1))
    whole = path.read_bytes()
    append_record(path, record(2))
    path.write_bytes(path.read_bytes()[:-7])
    assert read_history(path) == [record(1)]
    path.write_bytes(whole + b'{"version": 1, "total": 2}\n')
    assert read_history(path, total=1) == [record(1)]
    with pytest.raises(FolderError, match="line 2"):
        read_history(path)


def test_a_run_killed_before_its_first_iteration_begins_again(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert RunFolder(tmp_path).resume() == (None, [])


def test_files_half_written_by_a_killed_run_are_removed(tmp_path):
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = tmp_path / f".checkpoint.{int(gone.stdout)}.pt"
    alive = tmp_path / f".checkpoint.{os.getppid()}.pt"
    mine = tmp_path / ".my.notes.txt"
    for path in (left, alive, mine):
        path.write_bytes(b"half")
    RunFolder(tmp_path).resume()
    assert not left.exists() and alive.exists() and mine.exists()


def test_configs_that_are_none(tmp_path):
    for content in ("", "[]", "{", '{"experiment": [], "folder": ".", "name": "a"}', "[" * 100_000, '{"name": 3}'):
        (tmp_path / "config.json").write_text(content)
        with pytest.raises(FolderError, match="is not a run folder"):
            RunFolder(tmp_path).config()


def test_tampered_outcomes_of_a_sweep_are_run_again(tmp_path):
    kept, outcome = tmp_path / "seed1.json", {"loss": 0.5, "estimates": []}
    kept.write_text(json.dumps({"sha256": _checksum(outcome), "outcome": outcome}))
    assert read_outcome(kept) == outcome
    for content in (
        json.dumps({"sha256": _checksum(outcome), "outcome": {**outcome, "loss": 0.1}}), json.dumps(outcome), "", "[",
        "[" * 100_000, json.dumps({"sha256": None, "outcome": 3}), "null",
    ):  # fmt: skip
        kept.write_text(content)
        assert read_outcome(kept) is None
    assert read_outcome(tmp_path / "nowhere.json") is None


def test_a_written_outcome_equals_the_one_read(tmp_path):
    kept = tmp_path / "sweep" / "seed1.json"
    told = write_outcome(kept, {"loss": 0.5, "size": (8, 8), "verdict": {"spread": (1.0, math.nan)}})
    assert told["size"] == [8, 8]
    assert json.dumps(told) == json.dumps(read_outcome(kept))


@pytest.fixture
def toy(tmp_path, toy_registry, monkeypatch):
    (tmp_path / "toy.toml").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("until", [1, 3])
def test_a_disk_that_fills_up_stops_the_run_with_its_state_kept(toy, monkeypatch, until):
    """Kill at the first checkpoint, which leaves nothing to go on from but the beginning, and later."""
    common = ("toy.toml", "--no-check", "--no-report")
    invoke(*common, "--out", "whole")
    real, seen = os.fsync, []

    def full(handle):
        seen.append(handle)
        if len(seen) == until:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FolderError, match="the disk is full; free some space"):
        invoke(*common, "--out", "part", code=1)
    assert not [path for path in (toy / "part").iterdir() if path.name.startswith(".")]
    monkeypatch.setattr(os, "fsync", real)
    invoke("--resume", "part", "--no-report")
    assert bits(toy / "whole") == bits(toy / "part")


def test_titles_and_names_are_text_and_no_markup(toy):
    (toy / "bad.toml").write_text(TOY.replace("A thrown triangle", "[/bad] [red]red[link=x]"))
    assert "[/bad] [red]red[link=x]" in invoke("bad.toml", "--quick", "--no-report")


def test_a_resumed_run_uses_the_threads_it_began_with(toy):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        invoke("toy.toml", "--quick", "--no-report", "--out", "run")
        torch.set_num_threads(2)
        invoke("--resume", "run", "--no-report")
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
