"""Take pages that live beside what they describe into the documentation, with their links turned to where they lead."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
#: Where a page appears, and the file it is.
PAGES = {
    "reference/kernel_layer.md": "libs/kernels/src/diffloom_kernels/README.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/changes.md": "CHANGELOG.md",
    "project/security.md": "SECURITY.md",
    "project/conduct.md": "CODE_OF_CONDUCT.md",
}
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

    files.append(File.generated(config, "reference/parameters.md", content=parameters.page()))
    files.append(File.generated(config, "gallery/index.md", content=gallery()))
    return files


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
