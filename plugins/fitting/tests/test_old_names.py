"""Experiment files and scripts of before still work, and say the new names."""

import pytest
from test_files import TOY
from test_files import toy_file as toy_file

import diffloom_fitting as fitting
from diffloom_fitting import load_file
from diffloom_fitting.files.old_names import RENAMED, present_place, with_present_names


@pytest.mark.parametrize(
    ("old", "new"), [("Look", "Appearance"), ("Hops", "BasinHopping"), ("Overlap", "IoU"), ("read_film", "read_video")]
)
def test_names_of_the_package(old, new):
    with pytest.warns(DeprecationWarning, match=f"'{old}' is now called '{new}'"):
        assert getattr(fitting, old) is getattr(fitting, new)


def test_a_file_in_old_words_reads_the_same(toy_file):
    new = load_file(toy_file, quick=True)
    assert "[appearance]" in TOY and "[variants.quick]" in TOY
    toy_file.write_text(TOY.replace("[appearance]", "[look]").replace("[variants.quick]", "[quick]"))
    with pytest.warns(DeprecationWarning, match="is now called") as said:
        old = load_file(toy_file, quick=True)
    assert old.raw == new.raw
    texts = " ".join(str(warning.message) for warning in said)
    assert "toy.toml: 'look' is now called 'appearance'" in texts
    assert "toy.toml: 'quick' is now called 'variants.quick'" in texts


def test_old_keys_and_settings():
    data = {
        "target": {"film": "a.mp4", "frames": {"held": "none", "held_limit": 3}},
        "views": [{"label": "side", "target": {"film": "b.mp4"}}],
        "unknowns": {"look.colour": {"each": True}},
        "starts": {"spread": 0.2},
        "look": {"pattern": "plain"},
        "quick": {"target.film": "short.mp4"},
    }
    with pytest.warns(DeprecationWarning, match=r"old\.toml: .* is now called"):
        found = with_present_names("old.toml", data)
    assert found == {
        "target": {"video": "a.mp4", "frames": {"holdout": "none", "holdout_limit": 3}},
        "views": [{"label": "side", "target": {"video": "b.mp4"}}],
        "unknowns": {"appearance.colour": {"each": True}},
        "starts": {"scatter": 0.2},
        "appearance": {"pattern": "uniform"},
        "variants": {"quick": {"target.video": "short.mp4"}},
    }
    with pytest.warns(DeprecationWarning, match=r"'target\.film' is now called 'target\.video'"):
        assert present_place("old.toml", "views.0.target.film") == "views.0.target.video"
    assert present_place("old.toml", "views.0.camera.size") == "views.0.camera.size"


def test_present_names_pass_unchanged(recwarn):
    data = {"target": {"video": "a.mp4"}, "appearance": {"pattern": "stripes"}, "variants": {"quick": {"seed": 1}}}
    assert with_present_names("new.toml", data) == data
    assert all(present_place("new.toml", new) == new for new in RENAMED.values())
    assert not recwarn
