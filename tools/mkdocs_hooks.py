"""Hooks of mkdocs: generated pages, pages that live beside the code they describe, formulas, and links to source code.

Generated are the index of all public names, the page of parameters and that of constructors.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import formulas
import reference_pages

ROOT = Path(__file__).resolve().parents[1]
#: Source file of each page that lives beside the code, by the address of the page.
PAGES = {
    "reference/kernel_layer.md": "libs/kernels/src/diffloom_kernels/README.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/changes.md": "CHANGELOG.md",
    "project/security.md": "SECURITY.md",
    "project/conduct.md": "CODE_OF_CONDUCT.md",
}
#: Pages without columns at their sides.
WHOLE_WIDTH = ("index.md", "gallery/index.md")
#: MathML of the formulas of each page.
_FORMULAS: dict[str, list[str]] = {}
#: Width of the window from which on the theme shows navigation beside the page, and its own, wider one.
SIDE_FROM, _WIDE = r"\g<1>70\2em", r"((?:min|max)-width: ?)76(\.\d+)em"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    made = {}
    for place, source in PAGES.items():
        # A heading that begins with a digit gets a name that the theme's scripts cannot look up.
        text = re.sub(r"^## (?=\d)", "## Version ", (ROOT / source).read_text(encoding="utf-8"), flags=re.MULTILINE)
        made[place] = relinked(text, source, place)
    # Imported late, because the specs of the models need diffloom and torch; mkdocs restores the path in between.
    sys.path.insert(0, str(ROOT / "tools"))
    import parameters

    made["reference/parameters.md"] = parameters.page()
    made["reference/names.md"] = reference_pages.index_page()
    made["reference/constructors.md"] = reference_pages.constructors_page()
    for place, text in made.items():
        # On a forge a short page stands there, which says where the contents are.
        short = files.get_file_from_path(place)
        if short is not None:
            files.remove(short)
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Expand the blocks of the reference, and set formulas aside; grids get the whole width."""
    if page.file.src_uri in WHOLE_WIDTH:
        page.meta.setdefault("hide", ["navigation", "toc"])
    text, _FORMULAS[page.file.src_uri] = formulas.take_formulas(reference_pages.expand_blocks(markdown))
    return text


def on_page_content(html: str, page: Page, config: Any, files: Files) -> str:
    """Put in the formulas, and links to source code."""
    html = formulas.put_formulas(html, _FORMULAS.get(page.file.src_uri, []))
    return reference_pages.link_sources(html, page.url)


def on_post_build(config: Any) -> None:
    """Write the pages with source code, and let the theme show its side navigation on narrower windows."""
    site = Path(config["site_dir"])
    reference_pages.write_sources(site)
    changed = 0
    for pattern in ("assets/stylesheets/*.css", "assets/javascripts/bundle*.js"):
        for path in site.glob(pattern):
            text = path.read_text(encoding="utf-8")
            changed += len(re.findall(_WIDE, text))
            path.write_text(re.sub(_WIDE, SIDE_FROM, text), encoding="utf-8")
    if not changed:
        raise PluginError("The theme names its widths otherwise: no side navigation on windows of 1200 px")


def relinked(text: str, source: str, place: str) -> str:
    """Rewrite links as seen from ``place``; a link to a file that is no page becomes plain text."""

    def turned(found: re.Match[str]) -> str:
        words, address = found[1], found[2]
        if re.match(r"(https?:|#|mailto:)", address):
            return found[0]
        file, sign, anchor = address.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
        pages = {one: page for page, one in PAGES.items()}
        page = pages.get(target, target.removeprefix("docs/") if target.startswith("docs/") else None)
        if page is None:
            return words
        return f"[{words}]({posixpath.relpath(page, posixpath.dirname(place))}{sign}{anchor})"

    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", turned, text)
