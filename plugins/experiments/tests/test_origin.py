"""Origin of results: the fields of its file, and the results that are refused."""

from __future__ import annotations

import json

import pytest

from diffloom.interfaces import InputError
from diffloom_experiments.origin import check_origin, write_origin


@pytest.fixture
def table(tmp_path):
    (tmp_path / "mass.json").write_text("[1, 2]\n")
    (tmp_path / "mass.md").write_text("# Mass\n")
    return tmp_path / "mass.json"


def test_it_has_commit_version_command_date_and_machine(table):
    assert "write_origin" in check_origin(table)[0]
    told = json.loads(write_origin(table, table.with_suffix(".md"), command="python mass.py").read_text())
    assert told["command"] == "python mass.py" and told["version"] and "cores" in told["machine"]
    assert list(told["sha256"]) == ["mass.json"]
    assert set(told) == {"commit", "version", "command", "date", "machine", "sha256"}
    # Outside a clone nothing tells the commit, and only the clone's own results are checked for it.
    assert [fault for fault in check_origin(table) if "commit" not in fault] == []
    assert not [fault for fault in check_origin(table.with_suffix(".md")) if "commit" not in fault]


def test_figures_that_changed_since_are_refused(table):
    write_origin(table, command="python mass.py")
    table.write_text("[1, 3]\n")
    assert "run 'python mass.py' again" in check_origin(table)[-1]


def test_files_of_two_results_are_refused(table):
    with pytest.raises(InputError, match="one name"):
        write_origin(table, table.with_name("other.json"))
