"""Numbers as people write them: as many digits as are known, and no powers of ten where they are not needed."""

import pytest
import torch

from diffloom_fitting.numbers import (
    format_brief,
    format_measured,
    format_memory,
    format_percent,
    format_seconds,
    format_value,
    format_value_lines,
)
from diffloom_studio.playback import format_scale


@pytest.mark.parametrize(
    ("value", "deviation", "text"),
    [
        (6.00123, 0.0003, "6.00123 ± 0.00030"),
        (3976.4, 47.3, "3976 ± 47"),
        (9049.7, 243.0, "9050 ± 240"),
        (-123456.0, 2345.0, "-123500 ± 2300"),
        (2.5e7, 1.2e5, "2.5e+07 ± 1.2e+05"),
        (0.5, 0.0, "0.5"),
        (0.5, float("nan"), "0.5"),
        (0.5, None, "0.5"),
        (0.54091212081, 1e-12, "0.5409121208"),
    ],
)
def test_a_value_has_the_digits_that_its_deviation_supports(value, deviation, text):
    assert format_measured(value, deviation) == text


def test_a_short_list_is_told_in_full_and_a_long_one_by_what_it_has_in_common():
    three = torch.tensor([2.10013, 0.600071, 0.243426])
    assert format_value(three) == "(2.10013, 0.600071, 0.243426)"
    assert format_value_lines(three, torch.tensor([0.0021, 0.0063, 0.0092]))[0] == "2.1001 ± 0.0021"
    assert format_value(torch.arange(10.0)) == "mean 4.5, 0 to 9"
    assert format_value_lines(torch.arange(10.0)) == ["mean 4.5, 0 to 9"]


def test_records_are_brief():
    assert format_brief(3.14159265358) == "3.141593"
    assert format_brief([[1.0], [2.0]]) == "(1, 2)"
    assert format_brief([7.0]) == "7"
    assert format_brief({"mean": 1.5, "low": 1.0, "high": 2.0}) == "~1.5"
    assert format_brief([1.0, 2.0, 3.0, 6.0]) == "~3"


def test_times_sizes_and_errors():
    assert [format_seconds(s) for s in (0.0123, 9.96, 125.0)] == ["12 ms", "10.0 s", "2.1 min"]
    assert [format_memory(n) for n in (0, 5 * 2**20, 3 * 2**29)] == ["unknown", "5 MB", "1.50 GB"]
    assert [format_percent(e) for e in (None, 0.0, 0.0123, 2e-7)] == ["", "0", "1.2 %", "2.0e-07"]


@pytest.mark.parametrize(
    ("most", "unit", "text"),
    [
        (0.1234, "", "from 0 to 12 % and above"),
        (3210.0, "Pa", "from 0 to 3.21 kPa and above"),
        (4.5e6, "Pa", "from 0 to 4.5 MPa and above"),
        (12.0, "N/m", "from 0 to 12 N/m and above"),
    ],
)
def test_a_scale_says_what_its_ends_are(most, unit, text):
    assert format_scale(most, unit) == text
