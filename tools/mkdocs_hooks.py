"""Hooks of mkdocs: pages that are generated, and pages that live beside the code they describe.

Generated are the reference of each distribution (from its public modules), the gallery and the page of parameters.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from import_graph import Distribution, Repository

ROOT = Path(__file__).resolve().parents[1]
#: Where a page appears, and the file it is.
PAGES = {
    "reference/kernel_layer.md": "libs/kernels/src/diffloom_kernels/README.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/changes.md": "CHANGELOG.md",
    "project/security.md": "SECURITY.md",
    "project/conduct.md": "CODE_OF_CONDUCT.md",
}
#: Distributions that are used by name through the registry, and have no page of the reference.
REGISTERED_ONLY = ("physics_", "render_")
GALLERY = """# Gallery

Each image was made by the script under it, of at most 40 lines: `python docs/gallery/NAME.py`. Take the one that is
nearest to what you have in mind, and change it.
"""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    for place, source in PAGES.items():
        # A heading that begins with a digit gets a name that the theme's scripts cannot look up.
        text = re.sub(r"^## (?=\d)", "## Version ", (ROOT / source).read_text(encoding="utf-8"), flags=re.MULTILINE)
        files.append(File.generated(config, place, content=relinked(text, source, place)))
    # From the specs of the models themselves: imported here, since this needs diffloom and torch.
    sys.path.insert(0, str(ROOT / "tools"))
    import parameters
    from import_graph import Repository

    files.append(File.generated(config, "reference/parameters.md", content=parameters.page()))
    repository = Repository()
    for one in repository.distributions.values():
        if not one.name.startswith(REGISTERED_ONLY):
            files.append(File.generated(config, f"reference/{one.name}.md", content=reference(repository, one)))
    files.append(File.generated(config, "gallery/index.md", content=gallery()))
    return files


def reference(repository: Repository, distribution: Distribution) -> str:
    """Return the page of one distribution: its public modules, each with the names that it exports."""
    about = tomllib.loads((distribution.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    modules = sorted(distribution.public)
    parts = [f"# {distribution.package}\n", f"{about['description']}. Install `{about['name']}`.\n"]
    if len(modules) > 1:
        parts.append(f"Public modules: {', '.join(f'`{module}`' for module in modules)}.\n")
    for module in modules:
        names = sorted(repository.exports(module) - {"__version__"})
        # A function that bears the name of its module is hidden by it.
        hidden = [name for name in names if f"{module}.{name}" in distribution.modules]
        parts.append(f"::: {module}\n    options:\n      members: {[name for name in names if name not in hidden]}\n")
        parts += [f"::: {module}.{name}.{name}\n" for name in hidden]
    return "\n".join(parts)


def gallery() -> str:
    """Every script of docs/gallery: what it shows, its image and its code."""
    parts = [GALLERY]
    for path in sorted((ROOT / "docs" / "gallery").glob("*.py")):
        code = path.read_text(encoding="utf-8")
        told = ast.get_docstring(ast.parse(code)) or path.stem
        title, _, rest = told.partition(": ")
        parts.append(f"## {title}\n\n`{path.name}`: {rest}\n")
        parts.append(f"![{told}]({path.stem}.png)\n\n```python\n{code.split(chr(10), 2)[2].strip()}\n```\n")
    return "\n".join(parts)


def relinked(text: str, source: str, place: str) -> str:
    """Links as seen from ``place``; what is no page of the documentation becomes plain text."""

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
