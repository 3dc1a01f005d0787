"""Print how much a browser loads for each page of a built site, heaviest first, and the size of the whole site:

python tools/page_weights.py site [--all]
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

from links import resolve

SHOWN = 12  # pages in the table, without --all
LARGEST_SITE = 60e6  # bytes
LARGEST_PAGE = 8e6  # bytes that a page may load


class _Parts(HTMLParser):
    """Collects the addresses of the files that a page loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        loads = given.get("src") or (given.get("href") if tag == "link" and given.get("rel") == "stylesheet" else None)
        if loads:
            self.addresses.add(loads)


def weigh_page(path: Path) -> dict[str, int]:
    """Return the bytes of a page's HTML, its images and videos, and its scripts and styles.

    Args:
        path: The page.

    Returns:
        Bytes by kind.
    """
    found = {"page": path.stat().st_size, "images": 0, "scripts and styles": 0}
    for address in _Parts(path.read_text(encoding="utf-8")).addresses:
        target, _ = resolve(path, address)
        if target is not None and target.is_file():
            code = re.search(r"\.(js|css)$", target.name)
            found["scripts and styles" if code else "images"] += target.stat().st_size
    return found


def weigh_site(site: Path) -> dict[str, dict[str, int]]:
    """Return the weights of all pages by their address.

    Args:
        site: Folder of the built site.

    Returns:
        Weights, heaviest page first.
    """
    pages = {str(path.relative_to(site)): weigh_page(path) for path in sorted(site.rglob("*.html"))}
    return dict(sorted(pages.items(), key=lambda item: -sum(item[1].values())))


def measure_site(site: Path) -> int:
    """Return the bytes of all files of a site.

    Args:
        site: Folder of the built site.

    Returns:
        Bytes.
    """
    return sum(path.stat().st_size for path in site.rglob("*") if path.is_file())


def main(site: Path, *, whole: bool) -> None:
    """Print the table."""
    pages = weigh_site(site)
    print("| page | HTML [kB] | images [kB] | scripts and styles [kB] | together [kB] |\n|" + "---|" * 5)
    for name, weight in list(pages.items())[: None if whole else SHOWN]:
        cells = [f"{part / 1e3:.0f}" for part in (*weight.values(), sum(weight.values()))]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n{len(pages)} pages, {measure_site(site) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), whole="--all" in sys.argv)
