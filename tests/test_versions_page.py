"""The table of old and new names in docs/guide/versions.md: what it says of the present is true."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "guide" / "versions.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.partition("## From 0.2 to 0.3")[2].splitlines()
    if line.startswith("|") and "---" not in line
]


def resolves(name: str) -> bool:
    """Return True if a dotted name is a module, or a name in one."""
    module, _, attribute = name.rpartition(".")
    for place in (name, module):
        try:
            found = importlib.import_module(place) if place else None
        except ModuleNotFoundError:
            continue
        return place == name or hasattr(found, attribute)
    return False


def present_names() -> list[str]:
    """Dotted names of the last column, and "the same names" of a module in it."""
    found = []
    for cells in ROWS:
        quoted = re.findall(r"`([\w.]+)`", cells[-1])
        found += [name for name in quoted if re.fullmatch(r"diffloom(_\w+)?(\.\w+)*", name)]
        if cells[-1].startswith("the same names of "):
            found += [f"{quoted[0]}.{name}" for name in re.findall(r"`(\w+)`", cells[0].rpartition(" of ")[0])]
    return found


def test_the_versions_page_has_its_tables():
    assert len(present_names()) > 60


@pytest.mark.parametrize("name", sorted(set(present_names())))
def test_a_new_name_of_the_versions_table_exists(name):
    assert resolves(name)
