"""Blocks of the reference pages, links to source code, and the index of all public names.

A block in a page of ``docs/reference`` lists public names by module; each becomes an entry:

    ```reference
    diffloom_fitting: Scene View
    ```
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from html import escape
from pathlib import Path

from english import definition
from import_graph import ROOT, Repository

#: Distributions that are used by name through the registry, and export nothing.
REGISTERED_ONLY = ("physics_", "render_")
INDEX = """# All public names

Every name that a distribution exports, with the page that documents it. Import a name from one of the modules that list
it. [Versions](../guide/versions.md) says which of them keep their form.
"""
CONSTRUCTORS = """# Constructors

`get_model(name)` and `get_renderer(name)` return classes; this page has their arguments. [Parameters](parameters.md)
lists the physical quantities of each model, which `model.params(...)` takes.
"""
SOURCE_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style} body {{ margin: 1rem }} pre {{ overflow-x: auto; line-height: 1.4 }}
:target {{ background: #fff3c4 }} .linenos {{ color: #999; padding-right: 1em; user-select: none }}</style></head>
<body><h1><code>{title}</code></h1>{code}</body></html>
"""

#: Modules that pages link to.
_LINKED: set[Path] = set()
_BLOCK = re.compile(r"^```reference\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


@cache
def repository() -> Repository:
    """Return the distributions of this repository, read once."""
    return Repository()


def listed_names(markdown: str) -> list[tuple[str, str]]:
    """Return the module and name of each entry in the blocks of a page."""
    names = []
    for block in _BLOCK.findall(markdown):
        for line in filter(None, map(str.strip, block.splitlines())):
            module, _, rest = line.partition(":")
            names += [(module.strip(), name) for name in rest.split()]
    return names


def expand_blocks(markdown: str) -> str:
    """Replace the blocks of a page by directives of mkdocstrings, one for each name."""

    def directives(match: re.Match[str]) -> str:
        return "\n".join(f"::: {_address(*pair)}\n" for pair in listed_names(match[0]))

    return _BLOCK.sub(directives, markdown)


def _address(module: str, name: str) -> str:
    # A function that bears the name of its module is hidden by it.
    place = f"{module}.{name}"
    return f"{place}.{name}" if place in repository().modules else place


def home(module: str, name: str) -> tuple[str, str]:
    """Return a key of the object behind a public name, equal for all modules that export it."""
    found = definition(repository(), module, name)
    if found is not None:
        return str(found[0]), found[1].name
    return module.partition(".")[0], name


def public_names() -> list[tuple[str, str]]:
    """Return the module and name of everything public, by distribution."""
    return [
        (module, name)
        for one in repository().distributions.values()
        if not one.name.startswith(REGISTERED_ONLY)
        for module in sorted(one.public)
        for name in sorted(repository().exports(module) - {"__version__"})
    ]


def index_page() -> str:
    """Return the page that lists all public names and links to their entries."""
    pages = {}
    for path in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for module, name in listed_names(path.read_text(encoding="utf-8")):
            pages[home(module, name)] = f"{path.name}#{_address(module, name)}"
    parts = [INDEX]
    for one in repository().distributions.values():
        if one.name.startswith(REGISTERED_ONLY):
            continue
        description = one.metadata["project"]["description"]
        parts.append(f"## {one.package}\n\n{description}. Install `{one.metadata['project']['name']}`.\n")
        for module in sorted(one.public):
            names = sorted(repository().exports(module) - {"__version__"}, key=str.lower)
            links = [
                f"[`{name}`]({pages[home(module, name)]})" if home(module, name) in pages else f"`{name}`"
                for name in names
            ]
            if links:
                parts.append(f"**`{module}`**: {', '.join(links)}\n")
    return "\n".join(parts)


def link_sources(html: str, page: str) -> str:
    """Put a link to the source code beside the heading of each class and function.

    Args:
        html: Contents of the page.
        page: Its address below the site's root.

    Returns:
        The contents with links, which lead to the pages that ``write_sources`` makes.
    """

    def linked(match: re.Match[str]) -> str:
        module, _, name = match["name"].rpartition(".")
        if module not in repository().modules:
            return match[0]
        found = definition(repository(), module, name)
        if found is None or found[0].suffix != ".py":
            return match[0]
        _LINKED.add(found[0])
        target = posixpath.relpath(source_address(found[0]), posixpath.dirname(page))
        return f'{match[1]} <a class="source" href="{target}#L-{found[1].lineno}">source</a>{match[3]}'

    heading = r'<h\d id="(?P<name>[\w.]+)" class="doc doc-heading">(?:(?!</h\d>).)*?'
    return re.sub(rf'({heading})(\s*<a href="#[\w.]+" class="headerlink")', linked, html, flags=re.DOTALL)


def source_address(path: Path) -> str:
    """Return the address of the page with a module's code, below the site's root."""
    parts = path.with_suffix(".html").parts
    return posixpath.join("source", *parts[len(parts) - parts[::-1].index("src") :])


def write_sources(site: Path) -> None:
    """Write a page with highlighted code for each module that holds something public or that a page links to.

    Args:
        site: Folder of the site.
    """
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    files = _LINKED | {found[0] for pair in public_names() if (found := definition(repository(), *pair)) is not None}
    formatter = HtmlFormatter(linenos="inline", anchorlinenos=True, lineanchors="L")
    for path in sorted(file for file in files if file.suffix == ".py"):
        target = site / source_address(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        title = escape(path.relative_to(ROOT).as_posix())
        code = highlight(path.read_text(encoding="utf-8"), PythonLexer(), formatter)
        target.write_text(
            SOURCE_PAGE.format(title=title, style=formatter.get_style_defs(), code=code), encoding="utf-8"
        )


def constructors_page() -> str:
    """Return the page with the constructors of the models and renderers that come with this project."""
    from diffloom.plugins import MODELS, RENDERERS, installed_registry

    parts = [CONSTRUCTORS]
    for kind, get in ((MODELS, "get_model"), (RENDERERS, "get_renderer")):
        parts.append(f"## {kind.plural.capitalize()}\n")
        for entry in installed_registry().entries(kind):
            if entry.origin.distribution.startswith("diffloom-") and isinstance(entry.factory, str):
                place = entry.factory.replace(":", ".")
                options = "    options:\n      heading: '{}'\n      show_root_full_path: false\n      members: []\n"
                parts.append(f"::: {place}\n" + options.format(f'{get}("{entry.name}")'))
    return "\n".join(parts)
