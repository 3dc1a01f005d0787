"""Settings of the wrong kind are found by annotations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
import torch

from diffloom.interfaces import InputError
from diffloom.validation import check_arguments, check_setting, check_settings

GOOD = [
    (1.5, float), (2, float), (math.inf, float), (np.float32(1.0), float), (torch.ones(3), float), (None, float | None),
    (3, int), (np.int64(3), int), (True, bool), ("a", str), ("a", Literal["a", "b"]), ([1, 2], tuple[float, float]),
    ((1.0, 2), tuple[float, ...]), ([1, 2, 3], Sequence[int]), (np.zeros(3), Sequence[int]), ({}, dict),
    (object(), Any),
]  # fmt: skip
WRONG = [
    ("1.5", float, "'1.5'; expected a number"), (True, float, "True; expected a number"),
    (math.nan, float, "nan; expected a number"), (None, float, "None; expected a number"),
    (1.5, int, "1.5; expected a whole number"), (1, bool, "1; expected True or False"), (1, str, "1; expected a text"),
    ("linaer", Literal["linear", "steps"], "expected one of linear, steps; did you mean 'linear'?"),
    ([1.0], tuple[float, float], "expected 2 of them, each a number"),
    ("ab", Sequence[str], "expected several of them"),
    (["a"], Sequence[int], "expected several of them, each a whole number"),
    ("soft", float | None, "'soft'; expected a number or None"), (3, tuple[int, ...], "expected several of them"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "hint"), GOOD)
def test_what_fits_passes(value, hint):
    check_setting("it", value, hint)


@pytest.mark.parametrize(("value", "hint", "message"), WRONG)
def test_what_does_not_is_told_in_words(value, hint, message):
    with pytest.raises(InputError, match="^it: got") as caught:
        check_setting("it", value, hint)
    assert message in str(caught.value)


@dataclass(frozen=True)
class Setting:
    rate: float = 1.0
    kind: Literal["a", "b"] = "a"

    def __post_init__(self) -> None:
        check_settings(self)


def test_a_dataclass_checks_its_fields():
    Setting(2, "b")
    with pytest.raises(InputError, match=r"Setting\.rate: got 'fast'; expected a number"):
        Setting("fast")
    with pytest.raises(InputError, match=r"Setting\.kind: got 'c'; expected one of a, b"):
        Setting(kind="c")


def test_arguments_without_annotations_are_left_alone():
    def make(count: int, other=None, *, later: Unheard | None = None): ...  # noqa: F821

    check_arguments("make", make, {"count": "many", "other": 1})  # an unresolvable annotation: nothing is checked
    check_arguments("make", Setting, {"rate": 1.0, "else": 2})
    with pytest.raises(InputError, match=r"make\.rate"):
        check_arguments("make", Setting, {"rate": "x"})
