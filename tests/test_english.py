"""Docstrings and comments obey the rules of CONTRIBUTING.md, and everything public lists its parameters."""

from pathlib import Path

import english
import pytest


@pytest.mark.parametrize("folder", english.folders())
def test_docstrings_and_comments_obey_the_rules(folder):
    assert len(english.sources(folder)) > 0
    faults = english.faults(folder)
    assert faults == [], "\n".join(map(str, faults))


def rules_broken(code: str) -> list[str]:
    return [fault.text.split(",")[0] for fault in english.text_faults(Path("module.py"), code)]


@pytest.mark.parametrize("opening", ["What is given", "The same again", "Those of it", "Whether it is so", "Of all"])
def test_forbidden_openings_are_found(opening):
    found = rules_broken(f'def f():\n    """{opening}."""\n')
    assert f"begins with {opening.split(' ')[0]!r}" in found[0] or "The same" in found[0]


def test_openings_are_judged_where_a_docstring_or_a_comment_begins():
    assert rules_broken('"""Return the sum, of what the caller gave."""\n') == []
    assert rules_broken("# Whether it fits.\nx = 1  # In metres.\n") == ["begins with 'Whether': Whether it fits."]
    assert rules_broken("#: In metres.\nx = 1\n") == ["begins with 'In': In metres."]
    assert rules_broken("# A step\n# of what follows\nx = 1\n") == []


@pytest.mark.parametrize("words", ["nobody", "what was", "as it is", "by itself", "others", "such", "whoever"])
def test_forbidden_constructions_are_found(words):
    assert rules_broken(f"x = 1  # A sum for {words}\n") == [repr(words)]
    assert rules_broken(f"x = 1  # A sum for `{words}`\n") == []


def test_a_fault_has_the_line_of_its_word():
    (fault,) = english.text_faults(Path("module.py"), '"""A sum.\n\nIt is taken\nby itself.\n"""\n')
    assert fault.line == 4


def faults_of(code: str) -> list[str]:
    (node,) = english.ast.parse(code).body
    return [fault.text for fault in english._missing(Path("module.py"), node, "name")]


def test_parameters_and_results_without_an_entry_are_found():
    signature = "def f(a, *, b=1) -> int:\n"
    assert faults_of(f'{signature}    """Add."""\n') == ["name: no entry in Args: for a, b", "name: no Returns:"]
    whole = "Add.\n\n    Args:\n        a: First.\n        b: Second [m].\n\n    Returns:\n        Sum.\n    "
    assert faults_of(f'{signature}    """{whole}"""\n') == []
    assert faults_of(f'def f(a) -> int:\n    """{whole}"""\n') == ["name: Args: lists b, which it does not take"]


def test_fields_without_an_entry_are_found():
    fields = "    a: int\n    b: int = field(init=False)\n    C: ClassVar[int] = 1\n    _d: int = 0\n"
    assert faults_of(f'@dataclass\nclass A:\n    """Hold."""\n{fields}') == ["name: no entry in Args: for a"]
    assert faults_of(f'@dataclass\nclass A:\n    """Hold.\n\n    Args:\n        a: Sum.\n    """\n{fields}') == []
    assert faults_of("def f():\n    pass\n") == ["name has no docstring"]


def test_public_names_are_found_where_they_are_defined():
    (fitting,) = [one for one in english.Repository().distributions.values() if one.name == "fitting"]
    found = {name: path.name for name, path, _ in english.public_definitions(fitting)}
    assert len(found) > 100
    assert found["diffloom_fitting.Scene"].endswith(".py")
