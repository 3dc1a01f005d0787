import pytest

from diffloom.plugins import PluginError
from diffloom.plugins.selection import Selection


def select(**environment):
    return Selection.from_environment({f"DIFFLOOM_{name}": value for name, value in environment.items()})


def test_unset_means_all_and_empty_means_none():
    assert select().refuses("fem", "diffloom-physics-fem") is None
    assert "DIFFLOOM_PLUGINS" in select(PLUGINS="").refuses("fem", "diffloom-physics-fem")


@pytest.mark.parametrize("text", ["fem", "cloth, fem", "cloth fem", "diffloom-physics-fem", "Diffloom_Physics.FEM"])
def test_a_subset_goes_by_plugin_or_distribution_in_any_spelling(text):
    assert select(PLUGINS=text).refuses("fem", "diffloom-physics-fem") is None
    assert select(PLUGINS=text).refuses("rigid", "diffloom-physics-rigid") is not None


def test_leaving_out_wins_over_the_subset():
    selection = select(PLUGINS="fem", NO_PLUGINS="fem")
    assert selection.refuses("fem", "diffloom-physics-fem") == "switched off by --no-plugin or DIFFLOOM_NO_PLUGINS"


@pytest.mark.parametrize(("text", "value"), [("1", True), ("true", True), ("0", False), ("", False), ("no", False)])
def test_switches(text, value):
    assert select(STRICT_PLUGINS=text).strict is value
    assert select(TRACE_PLUGINS=text).trace is value


def test_a_switch_that_is_neither_on_nor_off_is_told():
    with pytest.raises(PluginError, match="DIFFLOOM_STRICT_PLUGINS is 'maybe': set it to 1 or 0"):
        select(STRICT_PLUGINS="maybe")
