"""Compiling ahead: what a fit needs is in the cache afterwards, and a file that cannot run is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from diffloom_experiments.warming import CompileJob, plan_jobs, run_jobs
from diffloom_studio.commands.files import warm

SPRINGS = """
[model]
name = "springs"
positions = [[0.0, 1.0, 0.0], [0.3, 1.0, 0.0]]
springs = [[0, 1]]
[time]
dt = 0.001
steps = 8
[camera]
size = [16, 16]
[renderer]
name = "dibr"
[target]
rate = 500
[truth]
stiffness = 40.0
[unknowns.stiffness]
start = 60.0
[[stages]]
optimiser = "gauss_newton"
iterations = 2
"""


def test_jobs_go_side_by_side_where_there_are_processors():
    cases = [(Path("a.toml"), None), (Path("b.toml"), "dibr")]
    (alone,) = plan_jobs(cases, 1)
    assert [job.part for job in alone] == ["all", "all"]
    first, second = plan_jobs(cases, 2)
    assert {(job.file.stem, job.part) for job in first} == {(f, p) for f in "ab" for p in ("physics", "images")}
    assert second == [CompileJob(Path("a.toml"), None, "all"), CompileJob(Path("b.toml"), "dibr", "all")]


def test_a_missing_file_is_told_before_anything_runs(tmp_path):
    done = CliRunner().invoke(warm, [str(tmp_path / "none.toml")])
    assert "no such file" in str(done.exception)


def programs(cache):
    return sorted(path.name for path in cache.rglob("*.code"))


def test_a_job_leaves_its_programs_for_others(tmp_path, monkeypatch):
    """Physics alone, of two particles: forward and backward."""
    monkeypatch.setenv("DIFFLOOM_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "springs.toml"
    file.write_text(SPRINGS)
    for _ in range(2):
        (outcome,) = run_jobs([CompileJob(file, None, "physics")], 1)
        assert outcome.trouble is None
        found = programs(tmp_path / "cache")
        assert len(found) == 2
        assert any("adjoint" in name for name in found)


def test_what_has_no_value_before_its_truth_is_left_to_the_whole(tmp_path, monkeypatch):
    """A body has a mass or a density: of a density that is sought, the physics alone knows nothing."""
    monkeypatch.setenv("DIFFLOOM_CACHE_DIR", str(tmp_path / "cache"))
    head = '[model]\nname = "rigid"\nbodies = [{ shape = "box" }]\n'
    file = tmp_path / "box.toml"
    file.write_text(head + SPRINGS[SPRINGS.index("[time]") :].replace("stiffness", "density"))
    outcomes = list(run_jobs([CompileJob(file, None, part) for part in ("physics", "all")], 1))
    assert [outcome.trouble for outcome in outcomes] == [None, None]
    assert any("adjoint" in name for name in programs(tmp_path / "cache")), "the whole has compiled it"


def test_trouble_is_told_in_a_line(tmp_path):
    file = tmp_path / "springs.toml"
    file.write_text(SPRINGS.replace("[[0, 1]]", "[[0, 7]]"))
    (outcome,) = run_jobs([CompileJob(file, None, "physics")], 1)
    assert "springs: number 0 joins particles 0 and 7" in outcome.trouble


@pytest.mark.slow
def test_a_fit_compiles_nothing_afterwards(tmp_path):
    (tmp_path / "springs.toml").write_text(SPRINGS)
    settings = {**os.environ, "DIFFLOOM_CACHE_DIR": str(tmp_path / "cache"), "DIFFLOOM_QUIET": ""}

    def diffloom(*arguments):
        command = [sys.executable, "-m", "diffloom", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done

    assert "compiled" in diffloom("warm", "springs.toml", "--jobs", "2").stdout
    before = programs(tmp_path / "cache")
    assert "compil" not in diffloom("run", "springs.toml").stderr
    assert programs(tmp_path / "cache") == before
