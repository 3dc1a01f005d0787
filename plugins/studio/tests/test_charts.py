"""Line charts: points lie where their numbers say, ticks are round, and nothing heavy is needed to draw them."""

import itertools
import math
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from diffloom_studio.report.charts import HEIGHT, WIDTH, Chart, Curve, arrange_charts, make_linear_axis, make_log_axis

SVG = "{http://www.w3.org/2000/svg}"


def points(drawing, number=0):
    line = ElementTree.fromstring(drawing).findall(f".//{SVG}polyline")[number]
    return [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]


def heights_of_ticks(drawing):
    """Height on the page by the number written there, of the vertical axis."""
    texts = ElementTree.fromstring(drawing).findall(f".//{SVG}text")
    return {float(t.text): float(t.get("y")) - 4.5 for t in texts if t.get("text-anchor") == "end"}


@pytest.mark.parametrize("log", [False, True])
def test_points_lie_between_the_ticks_that_enclose_them(log):
    ys = [1.0, 3.0, 10.0, 30.0, 100.0]
    drawing = Chart([Curve(range(5), ys)], "iteration", "loss", log=log).svg()
    ticks = heights_of_ticks(drawing)
    scale = math.log10 if log else float
    (a, at_a), (b, at_b) = min(ticks.items()), max(ticks.items())
    for y, (_, height) in zip(ys, points(drawing), strict=True):
        assert height == pytest.approx(at_a + (scale(y) - scale(a)) / (scale(b) - scale(a)) * (at_b - at_a), abs=0.02)
    across = [x for x, _ in points(drawing)]
    assert [b - a for a, b in itertools.pairwise(across)] == pytest.approx([across[1] - across[0]] * 4, 0.01)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.0, 20.0), ["0", "5", "10", "15", "20"]),
        ((12000.0, 3976.0), ["4000", "6000", "8000", "10000", "12000"]),
        ((0.9, 0.35), ["0.4", "0.6", "0.8"]),
        ((1.00001, 1.00003), ["1.00001", "1.000015", "1.00002", "1.000025", "1.00003"]),
        ((-2.5e9, 2.5e9), ["-2e+09", "-1e+09", "0", "1e+09", "2e+09"]),
    ],
)
def test_ticks_are_round_and_distinct(values, texts):
    assert [text for _, text in make_linear_axis(values, 5).ticks] == texts


@pytest.mark.parametrize("values", [(3.0, 3.0), (0.0, 0.0), (), (math.nan,), (math.inf, 2.0)])
def test_an_axis_of_nothing_much_still_has_ticks(values):
    axis = make_linear_axis(values, 5)
    assert axis.low < axis.high
    assert len(axis.ticks) >= 2


@pytest.mark.parametrize("values", [(1e-12, 1e9), (0.9, 1.1), (5.0, 5.0), (2e-4, 7e-3)])
def test_logarithmic_ticks_are_neither_few_nor_many(values):
    axis = make_log_axis(values, 5)
    assert 2 <= len(axis.ticks) <= 10
    assert len({text for _, text in axis.ticks}) == len(axis.ticks)
    assert all(0.0 <= axis.part(mark) <= 1.0 for mark, _ in axis.ticks)


def test_gaps_levels_and_names():
    curve = Curve(range(5), [1.0, 2.0, math.nan, 1.5, 2.5], label="a & b")
    drawing = Chart([curve, Curve(range(5), range(5), label="c")], "iteration", "x < y", levels=(9.0,)).svg()
    assert [len(points(drawing, k)) for k in range(3)] == [2, 2, 5]
    assert "a &amp; b" in drawing
    assert "x &lt; y" in drawing
    assert min(heights_of_ticks(drawing).values()) > 0.0
    dashed = [line for line in ElementTree.fromstring(drawing).iter(f"{SVG}line") if line.get("stroke-dasharray")]
    assert 0.0 < float(dashed[0].get("y1")) < HEIGHT


def test_charts_beside_each_other_do_not_overlap():
    chart = Chart([Curve(range(3), range(3))], "iteration", "value")
    inner = ElementTree.fromstring(arrange_charts([chart] * 4)).findall(f"{SVG}svg")
    places = [(float(one.get("x", 0)), float(one.get("y", 0))) for one in inner]
    assert places == [(0, 0), (384, 0), (768, 0), (0, HEIGHT)]
    assert float(ElementTree.fromstring(chart.svg()).get("width")) == WIDTH


def test_a_chart_takes_the_colour_of_its_page():
    drawing = Chart([Curve(range(3), [1.0, 10.0, 100.0])], "iteration", "loss, log scale", log=True).svg()
    assert "#000" not in drawing
    assert 'fill="currentColor"' in drawing


def test_a_report_is_written_without_a_plotting_library():
    script = "import sys, diffloom_studio.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
