"""The study of verdicts: its figures are counted right, and its reduced version runs."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "trust_study.py"


def study():
    spec = importlib.util.spec_from_file_location("trust_study", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["trust_study"] = module
    spec.loader.exec_module(module)
    return module


def row(**changes):
    base = {"study": "coverage", "family": "rigid", "noise": "white", "level": "green", "undetermined": [], "off": []}
    return base | changes


def test_figures_count_green_fits_alone():
    rows = [
        row(off=[0.1, -1.9, 2.5, 1.0]),
        row(level="amber", off=[9.0], undetermined=["mass"]),
        row(study="planted", named=True),
        row(study="planted", named=False),
        row(study="early", level="red"),
    ]
    told = study().summary(rows)
    assert "| rigid | white | 2 | 1 | 1 | 0 | 4 | 75.0 % |" in told
    assert "| rigid | all | 2 | 1 | 1 | 0 | 4 | 75.0 % |" in told
    assert "fem" not in told
    assert "planted unknowns named: 1 of 2" in told
    assert "stopped early and green: 0 of 1" in told
    assert "false alarms, white noise: 1 of 2" in told


def test_noise_has_unit_variance_and_correlation_in_time():
    made = study().blotches(torch.Size((200, 12, 12, 3)), 3)
    assert float(made.var()) == pytest.approx(1.0, abs=0.1)
    assert float((made[1:] * made[:-1]).mean()) == pytest.approx(study().MEMORY, abs=0.08)


def test_a_stopped_study_resumes(tmp_path, monkeypatch, capsys):
    module, ran = study(), []

    def fitted(kind):
        def one(family, noise, seed):
            ran.append((kind, family, noise, seed))
            return row(study=kind, family=family, noise=noise, seed=seed, named=True)

        return one

    monkeypatch.setattr(module, "STUDIES", {kind: fitted(kind) for kind in module.STUDIES})
    out = tmp_path / "rows.jsonl"
    monkeypatch.setattr(sys, "argv", ["trust_study.py", "--quick", "--first", "40", "--out", str(out)])
    module.main()
    assert len(ran) == len(set(ran)) == 15
    whole = out.read_text().splitlines()
    out.write_text("\n".join(whole[:6]) + "\n")
    told, before = capsys.readouterr().out, ran.copy()
    ran.clear()
    module.main()
    assert ran == before[6:]
    assert sorted(out.read_text().splitlines()) == sorted(whole)
    assert capsys.readouterr().out == told


@pytest.mark.slow
def test_the_reduced_study_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--first", "40", "--out", str(tmp_path / "rows.jsonl")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 15
    assert "planted unknowns named: 3 of 3" in done.stdout
    assert "stopped early and green: 0 of 3" in done.stdout
