"""Every public name is on a reference page, every page is in the navigation, and parameters are those of the models."""

import re
from pathlib import Path

import draw_functions
import formulas
import parameters
import reference_pages
import yaml
from griffe_extensions import fence_examples

from diffloom.plugins import get_model

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_is_on_one_reference_page():
    """A name that several modules export needs one entry."""
    listed = {}
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for module, name in reference_pages.listed_names(page.read_text()):
            assert name in reference_pages.repository().exports(module), f"{page.name}: {module} exports no {name}"
            listed.setdefault(reference_pages.home(module, name), []).append(f"{page.name}: {module}.{name}")
    public = {reference_pages.home(*pair): ".".join(pair) for pair in reference_pages.public_names()}
    assert len(public) > 400
    assert [name for home, name in public.items() if home not in listed] == []
    assert [places for places in listed.values() if len(places) > 1] == []


def test_reference_pages_show_signatures_parameters_and_sources(site):
    page = (site / "reference" / "scene.html").read_text()
    (entry,) = re.findall(r'<h3 id="diffloom_fitting.Scene".*?<h4', page, flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", "", entry)
    assert "Scene(" in text
    assert "steps: int" in text
    (link,) = re.findall(r'class="source" href="([^"#]+)#(L-\d+)"', entry)
    source = (site / "reference" / link[0]).resolve()
    assert f'name="{link[1]}"' in source.read_text() or f'id="{link[1]}"' in source.read_text()
    for page in (site / "reference").glob("*.html"):
        anchors = set(re.findall(r'id="([\w.]+)"', page.read_text()))
        markdown = ROOT / "docs" / "reference" / f"{page.stem}.md"
        for module, name in reference_pages.listed_names(markdown.read_text()) if markdown.exists() else []:
            assert {f"{module}.{name}", f"{module}.{name}.{name}"} & anchors, f"{page.name}: {module}.{name}"


def test_named_tuples_have_a_signature_and_a_table_of_fields(site):
    page = (site / "reference" / "raster.html").read_text()
    (entry,) = re.findall(r'<h3 id="diffloom_raster.records.Bins".*?<h3', page, flags=re.DOTALL)
    assert "Bins(" in re.sub(r"<[^>]+>", "", entry)
    assert "<table>" in entry


def test_examples_of_docstrings_are_shown_as_code(site):
    page = (site / "reference" / "scale.html").read_text()
    (entry,) = re.findall(r'<h3 id="diffloom_scale.VideoDataset".*?<h[34]', page, flags=re.DOTALL)
    code = re.findall(r"<pre.*?</pre>", entry, flags=re.DOTALL)
    assert any(
        "VideoDataset(" in text and "videos[0]" in text for text in (re.sub(r"<[^>]+>", "", one) for one in code)
    )
    text = "Draw.\n\nExample:\n    a = f(1)\n    g(a)\n\nReturns:\n    A sum.\n"
    wanted = "    ```python\n    a = f(1)\n    g(a)\n    ```\n"
    assert fence_examples(text) == text.replace("    a = f(1)\n    g(a)\n", wanted)
    assert fence_examples("Example:\n    ``f(1)``\n") == "Example:\n    ``f(1)``\n"


def test_functions_are_drawn_from_all_packages_by_the_seed():
    drawn = draw_functions.draw(30, seed=3)
    assert [name for name, _, _ in drawn] == [name for name, _, _ in draw_functions.draw(30, seed=3)]
    assert len({name.partition(".")[0] for name, _, _ in drawn}) >= len(reference_pages.repository().distributions)
    assert "def " in draw_functions.describe(*drawn[0])


def test_formulas_are_mathml_without_scripts(site):
    pages = {page.relative_to(site).as_posix(): page.read_text() for page in site.rglob("*.html")}
    assert not [name for name, text in pages.items() if re.search(r"FORMULA\d+END", text)]
    text, found = formulas.take_formulas("a $x^2$ b `$c$`\n\n$$y$$\n\n```\n$d$ $\n```\nand 5 $ or 6 $\n")
    assert text == "a FORMULA0END b `$c$`\n\nFORMULA1END\n\n```\n$d$ $\n```\nand 5 $ or 6 $\n"
    assert "<msup>" in found[0]
    assert formulas.put_formulas("<p>FORMULA1END</p>", found).startswith('<div class="formula"><math')


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
    entries = {page for page in pages if page.startswith("gallery/") and page != "gallery/index.md"}
    assert pages - entries <= named, f"not in mkdocs.yml: {sorted(pages - entries - named)}"
    grid = (ROOT / "docs" / "gallery" / "index.md").read_text()
    assert all(f"]({page.removeprefix('gallery/')})" in grid for page in entries)


def test_headings_begin_with_a_letter(site):
    """The theme looks sections up by their names, and a name that begins with a digit stops all scripts of its page."""
    for page in site.rglob("*.html"):
        found = re.findall(r'<h[1-6] id="(\d[^"]*)"', page.read_text())
        assert page.name == "404.html" or not found, f"{page.relative_to(site)}: {found}"
