"""Build the pages that need no plugin of mkdocs with Zensical, to see how ready the site is for it:

pip install zensical && python tools/zensical_site.py FOLDER

mkdocs 2 drops plugins and hooks, which the reference needs, so `make docs` stays with mkdocs below 2. This build does
not decide anything: the reference, the pages that live beside the code, and formulas are left out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def make_settings(text: str) -> str:
    """Return the settings of the site without mkdocstrings and hooks.

    Args:
        text: Content of mkdocs.yml.

    Returns:
        The settings.
    """
    text = re.sub(r"^  - mkdocstrings:\n(?:    .*\n|\n(?=    ))+", "", text, flags=re.MULTILINE)
    return re.sub(r"^hooks:\n(?:  - .*\n)+", "", text, flags=re.MULTILINE)


def main(folder: Path) -> int:
    """Copy pages and settings into a folder, and build there."""
    shutil.copytree(ROOT / "docs", folder / "docs", dirs_exist_ok=True)
    settings = make_settings((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    (folder / "mkdocs.yml").write_text(settings, encoding="utf-8")
    program = shutil.which("zensical") or str(Path(sys.executable).with_name("zensical"))
    try:
        return subprocess.run([program, "build", "-f", "mkdocs.yml"], cwd=folder, check=False).returncode
    except FileNotFoundError:
        print("zensical is not installed: pip install zensical", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
