"""Find dead links: of a built site, and of the Markdown files as a forge shows them.

python tools/links.py site
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
_CODE = re.compile(r"^(```|~~~).*?^\1[^\S\n]*$|`[^`\n]*`", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(<?([^()\s>]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\)|\b(?:src|href)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", flags=re.MULTILINE)


class _Page(HTMLParser):
    """Collects the addresses that a page leads to, and the names that lead into it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.addresses.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.names.add(value or "")


@cache
def read_page(path: Path) -> _Page:
    """Return the links and anchors of a page of the site."""
    return _Page(path.read_text(encoding="utf-8"))


def dead_links_of_site(site: Path) -> list[str]:
    """Return the dead links of a built site, each with its page.

    Args:
        site: Folder of the site.
    """
    site, found = site.resolve(), []
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":  # its addresses are those of a server
            continue
        for address in dict.fromkeys(read_page(path).addresses):
            target, anchor = resolve(path, address)
            if target is None:
                continue
            if target.is_dir():
                target = target / "index.html"
            missing = not target.is_file() or not target.is_relative_to(site)
            if missing or (anchor and target.suffix == ".html" and anchor not in read_page(target).names):
                found.append(f"{path.relative_to(site)}: {address}")
    return found


def resolve(path: Path, address: str) -> tuple[Path | None, str]:
    """Return the file that an address leads to and its anchor; None for addresses elsewhere."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or address.startswith(("data:", "javascript:")):
        return None, ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return target, unquote(parts.fragment)


def dead_links_of_markdown() -> list[str]:
    """Return the dead links of the Markdown files that git knows, as a forge resolves them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    found = []
    for path in (ROOT / name for name in sorted(filter(None, names))):
        if not path.is_file():
            continue
        for address in markdown_addresses(path.read_text(encoding="utf-8")):
            target, anchor = resolve(path, address)
            if target is None:
                continue
            missing = not target.exists() or not target.is_relative_to(ROOT)
            if missing or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                found.append(f"{path.relative_to(ROOT)}: {address}")
    return found


def markdown_addresses(text: str) -> Iterator[str]:
    """Yield the addresses of links and images outside of code."""
    for match in _LINK.finditer(_CODE.sub("", text)):
        yield match[1] or match[2]


@cache
def anchors(path: Path) -> set[str]:
    """Return the anchors of a file: those it names, and those that a forge makes from its headings."""
    text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = set(re.findall(r'\bid="([^"]+)"', text))
    for heading in _HEADING.findall(text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        count = 0
        while (name := slug if not count else f"{slug}-{count}") in found:
            count += 1
        found.add(name)
    return found


if __name__ == "__main__":
    dead = [*dead_links_of_markdown(), *(dead_links_of_site(Path(sys.argv[1])) if len(sys.argv) > 1 else [])]
    print("\n".join(dead) or "no dead links")
    sys.exit(bool(dead))
