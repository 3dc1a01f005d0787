"""The scripts of the gallery and of the executed pages: short, running, and each with the image or page it made."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))
#: These run programs that other tests have compiled.
QUICK = {"compressed_video", "fit_stiffness"}
MOST_LINES, MOST_BYTES = 40, 400_000


def test_there_are_fourteen_gallery_scripts():
    assert len(SCRIPTS) >= 14
    assert {path.stem for path in SCRIPTS} >= QUICK


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_has_its_image(script):
    assert len(script.read_text().splitlines()) <= MOST_LINES
    image = script.with_suffix(".png")
    assert image.stat().st_size < MOST_BYTES
    assert np.ptp(np.asarray(Image.open(image).convert("L"))) > 50, "there is nothing to be seen"


@pytest.mark.parametrize(
    "script",
    [pytest.param(p, marks=() if p.stem in QUICK else pytest.mark.slow, id=p.stem) for p in SCRIPTS],
)
def test_a_script_makes_its_image(script, tmp_path):
    made = tmp_path / "made.png"
    done = subprocess.run([sys.executable, str(script), str(made)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    kept = np.asarray(Image.open(script.with_suffix(".png")).convert("RGB")).astype(float)
    found = np.asarray(Image.open(made).convert("RGB")).astype(float)
    assert found.shape == kept.shape
    assert np.abs(found - kept).mean() < 6.0, "the image in the repository is of another script: make it anew"


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_shows_the_code_of_its_script(script):
    """The code itself runs with the other pages' snippets (test_docs.py)."""
    sys.path.insert(0, str(ROOT / "tools"))
    import notebooks

    code = [content for kind, content in notebooks.cells(script.read_text()) if kind == "code"]
    page = script.with_suffix(".md").read_text()
    assert re.findall(r"```python\n(.*?)\n```", page, flags=re.DOTALL) == code, "run tools/notebooks.py"
    assert page.count("```text") + page.count('class="output"') >= 2
