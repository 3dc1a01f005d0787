"""The attacks themselves, briefly: a few of each kind with fixed seeds, and what a failure looks like."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def attack(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(HERE), *arguments], env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=800, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "count"), [("files", 60), ("rollouts", 4), ("terms", 4)])
def test_a_few(kind, count):
    done = attack("--only", kind, "--seed", "11", "--count", str(count))
    assert done.returncode == 0, done.stdout
    assert f"{count} attacks, 0 failures" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["physics", "render", "cache"])
def test_more(kind):
    done = attack("--only", kind, "--seed", "11", "--count", "10")
    assert done.returncode == 0, done.stdout


def test_a_process_that_dies_and_an_error_are_failures_and_not_the_end(tmp_path):
    """A package of attacks that go wrong in every way, in place of the real ones."""
    for name in ("__main__.py", "tape.py"):
        text = (HERE / name).read_text()
        begin, end = text.find("ATTACKS = {"), text.find("}\n#: Longest")
        if name == "__main__.py":
            table = '"wrong": ("wrong_attacks", "wrong", 4, 1)'
            text = text[:begin] + "ATTACKS = {" + table + text[end:].replace("LONGEST = 300.0", "LONGEST = 4.0")
        (tmp_path / name).write_text(text)
    (tmp_path / "wrong_attacks.py").write_text(
        "import os, signal, time\n"
        "def wrong(tape):\n"
        "    a, b = tape.unit(), tape.unit()\n"
        "    {0: lambda: 'fine', 1: lambda: os.kill(os.getpid(), signal.SIGSEGV), 2: lambda: time.sleep(60)}.get(\n"
        "        STEP.pop(0) if STEP else 3, lambda: 1 / 0)()\n"
        "    return 'fine'\n"
        "import json, sys\n"
        "seeds = json.loads(sys.argv[sys.argv.index('--seeds') + 1])\n"
        "STEP = [seed % 4 for seed in seeds]\n"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path), "--seed", "0", "--count", "4"], capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "FAILED wrong, seed 1: the process died (code -11)" in done.stdout
    again = subprocess.run(
        [sys.executable, str(tmp_path), "--seed", "2", "--count", "1"], capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert "FAILED wrong, seed 2: hung for more than 4 s" in again.stdout
    third = subprocess.run(
        [sys.executable, str(tmp_path), "--seed", "3", "--count", "1"], capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert "FAILED wrong, seed 3: ZeroDivisionError" in third.stdout
    assert "choices [0.0, 0.0]" in third.stdout
