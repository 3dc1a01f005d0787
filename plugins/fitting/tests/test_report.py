"""The report is one file that shows by itself; where Chromium is installed it is opened there."""

import base64
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from test_files import TOY

from diffloom_fitting.commands.run import run
from diffloom_fitting.targets import read_video

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def report(tmp_path, toy_registry, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY.replace("A thrown triangle", "A <thrown> triangle"))
    done = CliRunner().invoke(run, ["toy.toml", "--out", "out"], catch_exceptions=False)
    assert done.exit_code == 0
    return tmp_path / "out" / "report.html"


class Balance(HTMLParser):
    """Counts tags left open, and collects what is loaded from elsewhere."""

    VOID = ("meta", "link", "img", "br", "hr", "input", "wbr")

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.faults = [], [], []

    def handle_starttag(self, tag, attrs):
        self.sources += [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.sources += [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def test_the_report_is_whole_and_self_contained(report):
    page = report.read_text()
    found = Balance()
    found.feed(page)
    assert found.faults == []
    assert found.open == []
    assert all(source.startswith(("data:", "#")) for source in found.sources)
    assert "A &lt;thrown&gt; triangle" in page
    assert page.count("<svg") == 3
    for text in ("What was found", "gravity", "m/s²", "gradient checked", "Where the time went", "kept aside"):
        assert text in page


def test_the_videos_show_target_start_and_fit(report):
    folder = report.parent
    video = read_video(folder / "video.mp4")
    frames = video.frames.numpy()
    assert len(video) == 11
    assert frames.shape[2] == 3 * frames.shape[1]
    third = frames.shape[1]
    target, start, fit = (frames[-1, 40:, k * third : (k + 1) * third - 2] for k in range(3))
    assert np.abs(target - fit).mean() < 0.01
    assert np.abs(target - start).mean() > 3 * np.abs(target - fit).mean()
    strip = np.asarray(Image.open(folder / "strip.png"))
    assert strip.shape[0] == 4 * 160
    inside = re.search(r"data:video/mp4;base64,([^\"]+)", report.read_text())
    assert base64.b64decode(inside[1]) == (folder / "video.mp4").read_bytes()


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("width", [390, 1100])
def test_the_report_opens_in_a_browser(report, tmp_path, width):
    probe = tmp_path / "probe.html"
    script = """<script>window.addEventListener('load', () => { setTimeout(() => {
      const video = document.querySelector('video'), image = document.querySelector('img');
      document.title = JSON.stringify({
        overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        image: image.naturalWidth, video: video.readyState, error: video.error ? video.error.message : null,
        seconds: video.duration,
        table: document.querySelector('.found').scrollWidth - document.querySelector('.wide').clientWidth,
        drawings: [...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width),
        inside: window.innerWidth });
    }, 800); });</script>"""
    probe.write_text(report.read_text().replace("</body>", script + "</body>"))
    # A frame of the phone's width: headless windows cannot be that narrow themselves.
    outer = tmp_path / "outer.html"
    outer.write_text(
        f"<iframe id=f src=probe.html width={width} height=900></iframe><script>setInterval(() => "
        "{document.title = document.getElementById('f').contentDocument.title}, 200)</script>"
    )
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
         f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=8000", "--dump-dom", outer.as_uri()],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None, done.stderr[-2000:]
    seen = json.loads(title[1])
    assert seen["inside"] == width
    assert seen["overflow"] <= 0
    assert seen["table"] <= 0
    assert seen["image"] > 0
    assert seen["error"] is None
    assert seen["video"] >= 1
    assert seen["seconds"] > 0
    assert all(0 < w <= width for w in seen["drawings"])


def test_reports_name_no_place_outside_the_run(report):
    assert str(Path.home()) not in report.read_text()
