"""Build the wheels of all distributions, with READMEs whose links work outside the repository.

python tools/build_wheels.py wheels
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "wheels", "site", "tests", "*.egg-info", "__pycache__", "runs")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def find_folders(root: Path) -> list[Path]:
    """Return the folder of each distribution, the root first."""
    return [
        root,
        root / "core",
        *sorted(p.parent for part in ("libs", "plugins") for p in root.glob(f"{part}/*/py*.toml")),
    ]


def read_address(root: Path) -> str:
    """Return the address of the repository at this version's tag, as a format with a place for the kind of view."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['urls']['Source']}/{{kind}}/v{project['version']}/"


def link_absolutely(text: str, folder: Path, root: Path) -> str:
    """Return a page of ``folder`` with absolute links in place of relative ones.

    Args:
        text: Page in Markdown.
        folder: Folder that its links start from.
        root: Root of the repository.

    Returns:
        Page whose images point at raw files, and other links at pages of the repository, both at the version's tag.

    Raises:
        FileNotFoundError: A link leads nowhere.
    """
    address = read_address(root)

    def replace(found: re.Match[str]) -> str:
        image, label, target, anchor = found.groups()
        path = (folder / target).resolve()
        if not path.exists():
            raise FileNotFoundError(f"{folder.name}/README.md links to {target}, which does not exist")
        kind = "raw" if image else "tree" if path.is_dir() else "blob"
        place = path.relative_to(root.resolve()).as_posix()
        return f"{image}[{LINK.sub(replace, label)}]({address.format(kind=kind)}{place}{anchor or ''})"

    return LINK.sub(replace, text)


def build(out: Path, names: set[str] | None = None) -> None:
    """Build wheels from a copy of the repository.

    Args:
        out: Folder for the wheels.
        names: Folders of the distributions by name; None means all.
    """
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary).resolve() / "diffloom"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        folders = [folder for folder in find_folders(copy) if names is None or folder.name in names]
        for folder in folders:
            page = folder / "README.md"
            page.write_text(link_absolutely(page.read_text(encoding="utf-8"), folder, copy), encoding="utf-8")
        pip = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            str(out.resolve()),
        ]
        subprocess.run([*pip, *map(str, folders)], check=True, cwd=copy)


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else "wheels"))
