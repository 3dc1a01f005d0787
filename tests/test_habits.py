"""Files for users and contributors: a citation, templates, a floor of coverage."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert cited["references"][0]["title"].startswith("gradSim")
    assert {"cff-version", "message", "authors", "title"} <= set(cited)


@pytest.mark.parametrize("name", ["bug", "idea", "wrong_fit"])
def test_issue_templates_ask_something(name):
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert form["name"]
    assert form["description"]
    asked = [item for item in form["body"] if item["type"] == "textarea"]
    assert any(item.get("validations", {}).get("required") for item in asked)
    assert len({item["id"] for item in asked}) == len(asked)


def test_coverage_has_a_floor_that_continuous_integration_holds():
    report = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]
    assert report["run"]["branch"] is True
    assert report["report"]["fail_under"] >= 90
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^coverage:", makefile, flags=re.MULTILINE)
    assert "make coverage" in (ROOT / ".github" / "workflows" / "tests.yml").read_text()


def test_this_version_has_its_section_and_its_day():
    """The changelog, the citation and the ranges of examples and templates are of the version that is built."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    (day,) = re.findall(rf"^## {re.escape(version)} - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert str(yaml.safe_load((ROOT / "CITATION.cff").read_text())["date-released"]) == day
    major, minor, _ = version.split(".")
    wanted = f">={major}.{minor},<{major}.{int(minor) + 1}"
    files = [
        *ROOT.glob("examples/*/pyproject.toml"),
        *ROOT.glob("libs/*/src/**/pyproject.toml.in"),
        ROOT / "pyproject.toml",
    ]
    files += [*ROOT.glob("plugins/*/pyproject.toml"), ROOT / "docs/plugins.md", ROOT / "docs/guide/versions.md"]
    ranges = [
        (path, found)
        for path in files
        for found in re.findall(r"diffloom-[\w-]+(?:\[\w+\])?(>=[\d.,<]+)", path.read_text())
    ]
    assert len(ranges) > 40
    assert [(path, found) for path, found in ranges if found != wanted] == []


def test_released_versions_have_a_date():
    versions = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert versions[0] == "Unreleased"
    for version in versions[1:]:
        assert re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", version), version
