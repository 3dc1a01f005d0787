"""The scripts of the gallery and of the executed pages: short, running, and each with the clip or page it made."""

import json
import re
import subprocess
import sys
from pathlib import Path

import gallery
import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = gallery.read_entries()
NAMES = [entry.name for entry in ENTRIES]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))
#: These run programs that other tests have compiled.
QUICK = {"compressed_video"}
MOST_LINES, MOST_BYTES = 40, 400_000


def test_the_gallery_has_every_kind_of_entry():
    assert len(NAMES) >= 24
    assert set(NAMES) == {path.stem for path in gallery.FOLDER.glob("*.py")}
    assert sum(name.startswith("real_") for name in NAMES) >= 4
    assert sum(name.startswith("plugin_") for name in NAMES) >= 3
    worlds = [e for e in ENTRIES if e.name.startswith("world_") and 'get_model("articulated")' in e.code]
    assert len(worlds) >= 2
    assert {"compressed_video"} <= QUICK <= set(NAMES)


def test_pages_are_those_of_the_scripts():
    for place, text in gallery.pages().items():
        assert place.read_text(encoding="utf-8") == text, "run tools/gallery.py"
    assert set(json.loads(gallery.SECONDS.read_text())) >= set(NAMES)


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_a_script_is_short_and_has_a_clip_that_moves(entry):
    assert len(entry.code.splitlines()) <= MOST_LINES
    assert entry.text and entry.change
    place = gallery.FOLDER / f"{entry.name}.webp"
    assert place.stat().st_size < MOST_BYTES
    frames = read_frames(place)
    assert len(frames) >= 10
    assert np.ptp(frames[0]) > 50, "there is nothing to be seen"
    assert max(np.abs(frames[k] - frames[0]).max() for k in (len(frames) // 2, -1)) > 50, "nothing moves"


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow, id=n) for n in NAMES])
def test_a_script_makes_its_clip(name, tmp_path):
    made = tmp_path / "made.webp"
    done = gallery.run_script(name, made)
    if "skipped: " in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr[-3000:]
    kept, found = (read_frames(place) for place in (gallery.FOLDER / f"{name}.webp", made))
    assert found.shape == kept.shape
    assert np.abs(found - kept).mean() < 6.0, "the clip in the repository is of another script: make it anew"


def test_the_tool_refuses_unknown_names():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gallery.py"), "no_such"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "expected names of docs/gallery/gallery.toml" in done.stderr


def read_frames(place: Path) -> np.ndarray:
    """Frames (frames, height, width, 3) of a clip."""
    clip, frames = Image.open(place), []
    for k in range(clip.n_frames):
        clip.seek(k)
        frames.append(np.asarray(clip.convert("RGB")).astype(float))
    return np.stack(frames)


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_shows_the_code_of_its_script(script):
    """The code itself runs with the other pages' snippets (test_docs.py)."""
    import notebooks

    code = [content for kind, content in notebooks.cells(script.read_text()) if kind == "code"]
    page = script.with_suffix(".md").read_text()
    assert re.findall(r"```python\n(.*?)\n```", page, flags=re.DOTALL) == code, "run tools/notebooks.py"
    assert page.count("```text") + page.count('class="output"') >= 2
    assert "<video" in page, "nothing moves"


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_the_cells_of_its_script_and_installs_diffloom_first(script):
    import notebooks

    whole = json.loads(script.with_suffix(".ipynb").read_text())
    code = [cell["source"] for cell in whole["cells"] if cell["cell_type"] == "code"]
    assert code[0] == notebooks.INSTALL
    assert code[1:] == [content for kind, content in notebooks.cells(script.read_text()) if kind == "code"]
    assert sum(bool(cell.get("outputs")) for cell in whole["cells"]) >= 2
    text = "".join(cell["source"] for cell in whole["cells"] if cell["cell_type"] == "markdown")
    assert not re.findall(r"\]\((?!https?:)", text), "a link that leads nowhere outside of the repository"


def test_there_are_five_notebooks():
    assert len(NOTEBOOKS) >= 5
