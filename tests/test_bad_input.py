"""Messages for mistakes: one sentence, an exit code, and nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCENE = """
title = "A thrown box"
[model]
name = "rigid"
bodies = [{{ {body} }}]
[time]
dt = "1/240"
steps = 24
[camera]
distance = 6
size = [24, 24]
[target]
{target}
[truth]
density = 4.0
[unknowns.density]
start = 3.0
[[stages]]
optimiser = "gauss_newton"
iterations = 2
"""
BOX = 'shape = "box", position = [0.0, 2.0, 0.0]'
OPEN = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n"


def diffloom(folder, *arguments, **variables):
    """Run the command as a person would, with its output in a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "diffloom", *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | variables,
    )  # fmt: skip


def write(folder, body=BOX, target="rate = 20"):
    (folder / "scene.toml").write_text(SCENE.format(body=body, target=target))


@pytest.mark.parametrize("fault", ["open mesh", "no video", "broken video", "wrong key", "wrong unit", "absent plugin"])
def test_errors_are_one_sentence_and_leave_no_files(tmp_path, fault):
    variables = {}
    if fault == "open mesh":
        (tmp_path / "open.obj").write_text(OPEN)
        write(tmp_path, body='mesh = "open.obj"')
        expected = "closed surface"
    elif fault == "no video":
        write(tmp_path, target='video = "clip.mp4"')
        expected = "video 'clip.mp4': no such file"
    elif fault == "broken video":
        (tmp_path / "clip.mp4").write_bytes(b"\x00\x00\x00\x18ftypmp42" + bytes(200))
        write(tmp_path, target='video = "clip.mp4"')
        expected = "clip.mp4"
    elif fault == "wrong key":
        write(tmp_path, target="rte = 20")
        expected = "target.rte: unknown key; did you mean 'rate'?"
    elif fault == "wrong unit":
        write(tmp_path, body='shape = "box", position = [0.0, 2.0, 0.0]')
        text = (tmp_path / "scene.toml").read_text()
        (tmp_path / "scene.toml").write_text(text.replace("density = 4.0", 'density = "4 g"'))
        expected = "truth.density: got '4 g', in g; expected in kg/m^3"
    else:
        write(tmp_path)
        variables["DIFFLOOM_NO_PLUGINS"] = "diffloom-physics-rigid"
        expected = "diffloom-physics-rigid"
    before = {path.name for path in tmp_path.iterdir()}
    done = diffloom(tmp_path, "run", "scene.toml", **variables)
    assert done.returncode == 1, done.stdout + done.stderr
    told = " ".join(done.stderr.split())
    assert expected in told
    assert "Traceback" not in told
    assert {path.name for path in tmp_path.iterdir()} == before


def test_output_in_a_pipe_is_plain_lines(tmp_path):
    write(tmp_path)
    done = diffloom(tmp_path, "run", "scene.toml", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "stage 1/1 GaussNewton 0: loss" in done.stdout
    assert "\x1b" not in done.stdout
