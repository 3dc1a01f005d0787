"""The comparison of a GPU with the CPU, tried with the CPU on both sides."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def acceptance(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    module = importlib.import_module("gpu_acceptance")
    monkeypatch.setattr(module, "RENDERERS", ("softras",))
    monkeypatch.setattr(module, "TOLERANCE", {"float64": 1e-9})
    return module


def test_the_processor_agrees_with_itself(acceptance, capsys):
    assert acceptance.main(["--device", "cpu", str(acceptance.DEMO)]) == 0
    said = capsys.readouterr().out
    assert said.count(" ok\n") == 1
    assert "repeat" in said
    assert said.endswith("all agree\n")


def test_a_failing_case_is_counted_and_the_rest_run(acceptance, capsys, tmp_path):
    (tmp_path / "broken.toml").write_text("[model]\nname = 'nobody'\n")
    assert acceptance.main(["--device", "cpu", str(tmp_path / "broken.toml"), str(acceptance.DEMO)]) == 1
    said = capsys.readouterr().out
    assert "broken softras" in said
    assert "FAILS: InputError: broken.toml" in said
    assert said.count(" ok\n") == 1
    assert said.endswith("1 cases differ\n")


def test_a_difference_between_devices_is_reported(acceptance, capsys, monkeypatch):
    seen, factors = acceptance._seen, iter((1.0, 1.01))

    def off(*given):
        found = seen(*given)
        return replace(found, gradient=found.gradient * next(factors))

    monkeypatch.setattr(acceptance, "_seen", off)
    assert acceptance.main(["--device", "cpu", str(acceptance.DEMO)]) == 1
    assert "DIFFERS" in capsys.readouterr().out
