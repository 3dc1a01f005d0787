"""Resolve the pinned set anew, within constraints.in, and write it to constraints.txt. Nothing is installed."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = "# The pinned set: CPU, Python 3.11. Made by `make lock`; the packages' own metadata keep loose ranges.\n"


def resolve() -> dict[str, str]:
    """Versions that pip would install into an empty environment, by name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        inputs = ["-r", "requirements-dev.txt", ".[cuda-check]", "-c", "constraints.in", "--report", str(report)]
        subprocess.run([*pip, *inputs], cwd=ROOT, check=True)
        found = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    # A local label such as +cpu belongs to one build; the pin serves all of them.
    return {item["name"]: item["version"].split("+")[0] for item in found}


def main() -> None:
    """Write constraints.txt and say how many packages it pins."""
    if sys.version_info[:2] != (3, 11):
        raise SystemExit(f"make lock needs Python 3.11, the oldest supported: this is {sys.version.split()[0]}")
    versions = resolve()
    pinned = sorted((name for name in versions if not re.match(r"diffloom(-|$)", name)), key=str.lower)
    lines = [f"{name}=={versions[name]}\n" for name in pinned]
    (ROOT / "constraints.txt").write_text(HEADER + "".join(lines))
    print(f"constraints.txt pins {len(pinned)} packages")


if __name__ == "__main__":
    main()
