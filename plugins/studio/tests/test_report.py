"""The report is one file without dependencies; where Chromium is installed it is opened there."""

import base64
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from browser import CHROMIUM, Browser
from click.testing import CliRunner
from PIL import Image
from toy_file import TOY

from diffloom_fitting import Estimate, Result
from diffloom_fitting.trust import Uncertainty
from diffloom_studio.commands.run import run
from diffloom_studio.report.page_data import make_rows
from diffloom_studio.report.panels import HEAD
from diffloom_studio.report.trust_charts import draw_correlations
from diffloom_video import read_video

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def page_data_of(report):
    return json.loads(re.search(r'id="data">(.*?)</script>', report.read_text(), re.DOTALL)[1])


@pytest.fixture
def report(tmp_path, toy_registry, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY.replace("A thrown triangle", "A <thrown> triangle"))
    done = CliRunner().invoke(run, ["toy.toml", "--out", "out"], catch_exceptions=False)
    assert done.exit_code == 0
    return tmp_path / "out" / "report.html"


class Balance(HTMLParser):
    """Counts tags left open, and collects addresses that are loaded from elsewhere."""

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


def test_the_report_is_complete_and_self_contained(report):
    page = report.read_text()
    found = Balance()
    found.feed(page)
    assert found.faults == []
    assert found.open == []
    assert all(source.startswith(("data:", "#")) for source in found.sources)
    assert "A &lt;thrown&gt; triangle" in page
    assert page.count("<svg") >= 3
    for text in ("found", "gravity", "m/s²", "gradient checked", "Time by part", "in the holdout", "What to try next"):
        assert text in page


def test_nothing_is_said_three_times(report):
    """The verdict's level, its sentences and the values stand once; cite repeats the level."""
    page = re.sub(r"<(style|script|details|svg).*?</\1>", "", report.read_text(), flags=re.DOTALL)
    words = re.sub(r"<[^>]+>", " ", page)
    level = re.search(r"verdict (green|amber|red)", words)[1]
    assert len(re.findall(rf"\b{level}\b", words)) <= 2
    for finding in re.findall(r'<li class="(?:green|amber|red)"><b>\w+</b> (.*?)</li>', page):
        assert page.count(finding) == 1


def test_vectors_are_rows_of_x_y_z_with_deviations():
    e = Estimate("velocity", "m/s", torch.zeros(3), torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.1, 0.2, 0.3]),
                 torch.tensor([1.0, 2.0, 2.0]))  # fmt: skip
    found = Result((e,), torch.zeros(3), 0.1, 1.0, "done", 3, 4, 1.0, 10)
    rows = make_rows(found)
    assert [row["unknown"] for row in rows] == [["velocity x"], ["velocity y"], ["velocity z"]]
    (heading,) = {"found", "reached"} & set(rows[0])
    assert rows[1][heading] == ["2.00 ± 0.20"]
    assert rows[2]["error"] == ["33 %"]
    assert rows[2]["truth"] == ["2"]


def test_profiles_rise_on_both_sides_and_correlations_are_a_map(report):
    page = report.read_text()
    part = page[page.index("What the video determines") :]
    drawing = re.search(r"<polyline points=\"([^\"]+)\"", part)[1]
    heights = [float(point.split(",")[1]) for point in drawing.split()]
    assert len(heights) >= 5
    assert heights[len(heights) // 2] > max(heights[0], heights[-1])  # the page counts downwards
    sure = Uncertainty({}, 0.1, 1.0, torch.tensor([[1.0, -0.5], [-0.5, 1.0]]))
    e = Estimate("a", "", torch.zeros(()), torch.ones(()), torch.ones(()))
    drawn = draw_correlations(
        Result((e,), torch.zeros(2), 0.1, 1.0, "", 3, 4, 1.0, 10, uncertainty=sure), ["a", "b[1]"]
    )
    assert drawn.count("<rect") == 4
    assert "-0.50" in drawn
    assert "b y" in drawn


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
    assert strip.shape[0] == HEAD + 4 * 160
    assert strip[:HEAD].max() == 255  # the times


def test_the_page_holds_the_very_frames(report):
    """The scripts draw the target's pixels, bit by bit."""
    data = page_data_of(report)
    (view,) = data["views"]
    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(view["panels"]["target"].split(",")[1]))))
    wide, high, last = view["width"], view["height"], len(view["times"]) - 1
    row, column = divmod(last, view["columns"])
    found = sheet[row * high : (row + 1) * high, column * wide : (column + 1) * wide]
    strip = np.asarray(Image.open(report.parent / "strip.png"))
    factor = 160 // high
    assert found.max() > 100
    np.testing.assert_array_equal(found, strip[HEAD : HEAD + 160 : factor, -factor * wide :: factor])


def test_the_page_holds_the_surfaces_to_16_bits(report):
    scene = page_data_of(report)["scene"]
    names = [body["name"] for body in scene["bodies"]]
    assert names == ["start", "fit", "truth"]
    start, fit, truth = (
        np.frombuffer(base64.b64decode(body["vertices"]), "<u2").reshape(len(body["times"]), body["count"], 3)
        / 65535.0 * np.array(body["size"]) + np.array(body["low"])
        for body in scene["bodies"]
    )  # fmt: skip
    assert np.abs(fit - truth).max() < 1e-3
    assert np.abs(start - truth).max() > 0.1
    assert np.frombuffer(base64.b64decode(scene["faces"]), "<u4").max() < fit.shape[1]


def test_the_page_holds_stress_and_no_strain_of_rigid_bodies(report):
    scene = page_data_of(report)["scene"]
    assert list(scene["fields"]) == ["stress"]
    found = {}
    for body in scene["bodies"]:
        shades = np.frombuffer(base64.b64decode(body["fields"]["stress"]), np.uint8)
        found[body["name"]] = shades.reshape(len(body["times"]), body["count"])
    most = float(re.fullmatch(r"from 0 to ([\d.]+) kPa and above", scene["fields"]["stress"])[1])
    assert found["fit"].max() == 255  # the body that sets the scale
    # The toy's stress is a thousand times its speed: it starts with the one in the file, and a step goes as far as the
    # speed after it.
    told = (found["truth"][:, 0] - 1.0) / 254.0 * most
    truth = next(body for body in scene["bodies"] if body["name"] == "truth")
    vertices = np.frombuffer(base64.b64decode(truth["vertices"]), "<u2").reshape(len(truth["times"]), -1, 3) / 65535.0
    steps = np.linalg.norm(np.diff(vertices[:, 0] * np.array(truth["size"]), axis=0), axis=1)
    assert told[0] == pytest.approx(5.0**0.5, rel=0.01)
    np.testing.assert_allclose(told[1:], steps / np.diff(truth["times"]), rtol=0.02)


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


@needs_chromium
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_the_report_in_a_browser(report, browser, width, dark):
    page = browser.open(report.as_uri(), width, dark=dark)
    page.wait("diffloom.ready")
    assert page.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert page.ask("document.querySelector('.found').scrollWidth - document.querySelector('.wide').clientWidth") <= 0
    widths = page.ask("[...document.querySelectorAll('.drawings svg')].map(s => s.getBoundingClientRect().width)")
    assert len(widths) >= 3
    assert max(widths) - min(widths) < 1.0
    assert 0 < max(widths) <= width
    back = page.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", back))) < 120) == dark
    page.click("#theme")
    turned = page.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", turned))) < 120) != dark
    assert page.faults() == []
    assert all(address.startswith(("data:", "file:")) for address in page.fetched())


SHOWN = "[...document.querySelectorAll('.panels canvas')].map(c => c.toDataURL())"
SOLID = "(async () => { await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));" \
    " return document.getElementById('solid').toDataURL(); })()"  # fmt: skip


@needs_chromium
def test_clicking_through_the_report(report, browser):
    """One scrubber moves videos and 3D view; modes, layers, layout, dragging and playing all change the drawing."""
    page = browser.open(report.as_uri(), 1200)
    page.wait("diffloom.ready")
    first, solid = page.ask(SHOWN), page.ask(SOLID)
    slide = "(s => { s.value = %s; s.dispatchEvent(new Event('input')); })(document.querySelector('.scrub input'))"
    page.ask(slide % "0.2")
    later = page.ask(SHOWN)
    assert all(a != b for a, b in zip(first, later, strict=True))
    assert page.ask(SOLID) != solid
    assert "0.20" in page.ask("document.querySelector('.panels figcaption').textContent")
    assert "0.20" in page.ask("document.querySelector('.scrub output').textContent")
    page.click("input[value=residual]")
    residual = page.ask(SHOWN)
    assert residual[0] == later[0]
    assert residual[1] != later[1]
    assert residual[2] != later[2]
    assert "% of full brightness" in page.ask("document.getElementById('residual-scale').textContent")
    page.click("input[value=overlay]")
    assert page.ask(SHOWN)[1] not in (residual[1], later[1])
    start = "document.querySelector('.motion .start').offsetWidth"
    assert page.ask(start) == 0
    page.click("input[name=guess]")
    assert page.ask(start) > 0
    page.ask("diffloom.viewer.eye.far *= 8, diffloom.viewer.redraw()")  # so far that the camera itself is in view
    solid = page.ask(SOLID)
    scale = "document.getElementById('scale').hidden"
    assert page.ask(scale)
    page.click("input[name=colour][value=stress]")
    assert page.ask(SOLID) != solid
    assert not page.ask(scale)
    assert page.ask("document.getElementById('scale').textContent") == page.ask("data.scene.fields.stress")
    page.click("input[name=colour][value='']")
    assert page.ask(SOLID) == solid
    assert page.ask(scale)
    assert page.ask("[...document.querySelectorAll('#labels .body')].map(s => s.textContent)") == [
        "start",
        "fit",
        "truth",
    ]
    assert page.ask("getComputedStyle(document.querySelector('#labels .body')).color") == page.ask(
        "getComputedStyle(document.querySelector('.choices i.start')).backgroundColor"
    )
    page.click(".pad [data-do=left]")
    assert page.ask(SOLID) != solid
    solid = page.ask(SOLID)
    for choice in ("input[name=body][value=start]", "input[value=apart]", "input[name=frusta]"):
        page.click(choice)
        changed = page.ask(SOLID)
        assert changed != solid, choice
        solid = changed
    x, y = page.ask(
        "(r => [r.x + r.width / 2, r.y + r.height / 2])(document.getElementById('solid').getBoundingClientRect())"
    )
    page.drag((x, y), (x + 80, y + 20))
    assert page.ask(SOLID) != solid
    before = page.ask("diffloom.time")
    page.click(".scrub button")
    page.wait(f"diffloom.time !== {before!r}")
    assert page.faults() == []


@pytest.mark.parametrize("shutter", ["exposure = 0.03\nsubframes = 4", "readout = 0.02"])
def test_a_report_shows_exposure_and_rolling_shutter(tmp_path, toy_registry, monkeypatch, shutter):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY.replace("elevation = 10\n", f"elevation = 10\n{shutter}\n"))
    done = CliRunner().invoke(run, ["toy.toml", "--out", "out"], catch_exceptions=False)
    assert done.exit_code == 0
    data = page_data_of(tmp_path / "out" / "report.html")
    (view,) = data["views"]
    sheets = {
        name: np.asarray(Image.open(io.BytesIO(base64.b64decode(text.split(",")[1])))).astype(int)
        for name, text in view["panels"].items()
    }
    assert len(view["times"]) == 11
    # The fit found the truth, so its drawing is what the camera recorded.
    assert np.abs(sheets["fit"] - sheets["target"]).max() <= 1
    assert np.abs(sheets["start"] - sheets["target"]).max() > 10
    assert [len(body["times"]) for body in data["scene"]["bodies"]] == [11, 11, 11]


def test_reports_name_no_place_outside_the_run(report):
    assert str(Path.home()) not in report.read_text()


@needs_chromium
def test_the_first_screen_shows_video_fit_verdict_and_table(report, browser):
    page = browser.open(report.as_uri(), 1200, 800)
    page.wait("diffloom.ready")
    for selector in (".badge", ".found", ".findings", "canvas[data-panel=target]", "canvas[data-panel=fit]", ".scrub"):
        place = page.ask(
            f"(r => [r.top, r.bottom, r.width])(document.querySelector('{selector}').getBoundingClientRect())"
        )
        assert 0 <= place[0] < place[1] <= 800, selector
        assert place[2] > 0, selector
    left, right = (
        page.ask(f"document.querySelector('canvas[data-panel={name}]').getBoundingClientRect().left")
        for name in ("target", "fit")
    )
    assert left < right


@needs_chromium
def test_the_report_prints_on_few_pages(report, browser):
    page = browser.open(report.as_uri(), 1200)
    page.wait("diffloom.ready")
    content = base64.b64decode(page.send("Page.printToPDF", printBackground=True)["data"])
    assert content.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 5
