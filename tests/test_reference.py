"""Every public name is on a reference page, every page is in the navigation, and parameters are those of the models."""

import re
from pathlib import Path

import parameters
import yaml
from import_graph import Repository
from mkdocs_hooks import REGISTERED_ONLY

from diffloom.plugins import get_model

ROOT = Path(__file__).resolve().parents[1]


def test_public_names_are_on_reference_pages(site):
    pages = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    anchors = set(re.findall(r'id="([\w.]+)"', pages))
    repository, missing, seen = Repository(ROOT), [], 0
    for one in repository.distributions.values():
        if one.name.startswith(REGISTERED_ONLY):
            continue
        for module in one.public:
            for name in repository.exports(module) - {"__version__"}:
                place = f"{module}.{name}"
                # Where a module bears the name of its function, the heading of the module is not enough.
                missing += [] if (f"{place}.{name}" if place in one.modules else place) in anchors else [place]
                seen += 1
    assert not missing, f"not on the pages that tools/mkdocs_hooks.py generates: {', '.join(missing)}"
    assert seen > 400


def test_every_parameter_is_on_the_page_of_parameters(site):
    page = (site / "reference" / "parameters.html").read_text()
    seen = 0
    for name in parameters.model_names():
        part = re.search(rf'<h2 id="{name}">.*?(?=<h2)', page, flags=re.DOTALL)[0]
        for spec in get_model(name).example().specs:
            row = re.search(rf"<tr>\s*<td><code>{re.escape(spec.name)}</code></td>.*?</tr>", part, flags=re.DOTALL)
            assert row, f"{name}: {spec.name}"
            assert f"<td>{spec.unit or '1'}</td>" in row[0]
            seen += 1
    assert seen > 60


def test_the_pages_can_be_searched(site):
    index = (site / "search" / "search_index.json").read_text()
    for place in ("gallery/index.html", "reference/kernel_layer.html", "models/fem.html", "models/cloth.html"):
        assert place in index


def leaves(nav):
    for item in nav:
        for value in item.values():
            yield from leaves(value) if isinstance(value, list) else [value]


def test_every_page_is_in_the_navigation():
    text = re.sub(r"!!python\S*", "", (ROOT / "mkdocs.yml").read_text())
    named = set(leaves(yaml.safe_load(text)["nav"]))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= named, f"not in mkdocs.yml: {sorted(pages - named)}"


def test_headings_begin_with_a_letter(site):
    """The theme looks sections up by their names, and a name that begins with a digit stops all scripts of its page."""
    for page in site.rglob("*.html"):
        found = re.findall(r'<h[1-6] id="(\d[^"]*)"', page.read_text())
        assert page.name == "404.html" or not found, f"{page.relative_to(site)}: {found}"
