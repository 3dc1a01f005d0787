"""The rule of what `make test` leaves out keeps each test of each package once."""

from types import SimpleNamespace

import pytest
import quick_run

MARKS = pytest.mark.skipif(True, reason="absent"), pytest.mark.skip, pytest.mark.skipif(False, reason="there")


def item(nodeid, *marks, **params):
    """A collected test, as far as the rule looks at it."""
    own = [mark.mark for mark in marks]
    by_name = lambda name: [mark for mark in own if mark.name == name]  # noqa: E731
    found = SimpleNamespace(
        nodeid=nodeid,
        iter_markers=by_name,
        get_closest_marker=lambda name: next(iter(by_name(name)), None),
    )
    if params:
        found.callspec = SimpleNamespace(params=params)
    return found


def left_out(*items, listed=()):
    return [each.nodeid for each in quick_run.find_repetitions(items, listed)]


def test_of_a_package_the_first_case_stays():
    items = [item(f"plugins/a/tests/test_a.py::test_b[{k}]", value=k) for k in range(3)]
    assert left_out(*items, item("plugins/a/tests/test_a.py::test_c")) == [each.nodeid for each in items[1:]]


def test_across_packages_every_value_stays_once():
    pairs = [("x", 1), ("x", 2), ("y", 1), ("y", 2)]
    items = [item(f"tests/test_a.py::test_b[{a}-{b}]", a=a, b=b) for a, b in pairs]
    assert left_out(*items) == ["tests/test_a.py::test_b[y-2]"]
    tuples = [item(f"tests/test_a.py::test_b[{a}-{b}]", both=(a, b)) for a, b in pairs]
    assert left_out(*tuples) == ["tests/test_a.py::test_b[y-2]"]


def test_a_case_that_does_not_run_stands_for_no_other():
    absent, skipped, there = MARKS
    first = item("libs/a/tests/test_a.py::test_b[0]", absent, value=0)
    second = item("libs/a/tests/test_a.py::test_b[1]", skipped, value=1)
    third = item("libs/a/tests/test_a.py::test_b[2]", there, value=2)
    assert left_out(first, second, third, item("libs/a/tests/test_a.py::test_b[3]", value=3)) == [
        "libs/a/tests/test_a.py::test_b[3]"
    ]


def test_a_list_names_files_tests_and_cases():
    names = ["tests/test_a.py::test_b", "tests/test_a.py::test_b[1]", "tests/test_ab.py::test_b"]
    for entry in ("tests/test_a.py", "tests/test_a.py::test_b"):
        assert left_out(*map(item, names), listed=[entry]) == names[:2]
    assert left_out(*map(item, names), listed=["tests/test_a.py::test_b[1]"]) == names[1:2]


def test_what_is_listed_exists(repository):
    for entry in quick_run.read_listed():
        file, _, test = entry.partition("::")
        assert (repository / file).exists(), entry
        assert not test or f"def {test.partition('[')[0]}(" in (repository / file).read_text(), entry


def test_every_package_keeps_tests(repository):
    whole = {entry for entry in quick_run.read_listed() if "::" not in entry}
    projects = [*repository.glob("libs/*/pyproject.toml"), *repository.glob("plugins/*/pyproject.toml")]
    assert len(projects) > 20
    for folder in (repository / "core", *(project.parent for project in projects)):
        files = [path.relative_to(repository).as_posix() for path in (folder / "tests").rglob("test_*.py")]
        assert set(files) - whole, folder
