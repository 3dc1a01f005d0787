"""Write the catalogue of published plugins, by which the core says what to install for a name that is missing.

``python tools/catalogue.py`` writes it; ``--check`` fails where it is out of date. It holds the kinds that each
distribution of this repository defines and the names that it registers, read from the plugins themselves: all of them
must be installed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path

from diffloom.plugins import Origin
from diffloom.plugins.loader import Candidate, load_plugins
from diffloom.plugins.selection import Selection

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "core" / "src" / "diffloom" / "plugins" / "catalogue.json"


def candidates(root: Path = ROOT) -> list[Candidate]:
    """Return the plugins of all distributions below a folder, from their entry points."""
    found = []
    for path in sorted([*root.glob("libs/*/pyproject.toml"), *root.glob("plugins/*/pyproject.toml")]):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for name, module in project.get("entry-points", {}).get("diffloom", {}).items():
            origin = Origin(name, project["name"], project["version"])
            found.append(Candidate(origin, partial(import_module, module)))
    return found


def catalogue(root: Path = ROOT) -> str:
    """Return the catalogue as JSON. Raises BrokenPluginsError if a plugin cannot be loaded."""
    registry = load_plugins(Selection(), candidates(root))
    registry.raise_if_faulty()
    found: dict[str, dict[str, dict[str, list[str]] | list[str]]] = {}
    for report in registry.plugins:
        registers: dict[str, list[str]] = {}
        for offer in report.offers:
            registers.setdefault(offer.kind.plural, []).append(offer.name)
        found[report.origin.distribution] = {
            "defines": sorted(kind.plural for kind in registry.kinds if registry.definer(kind) == report.origin),
            "registers": {plural: sorted(registers[plural]) for plural in sorted(registers)},
        }
    text = json.dumps({name: found[name] for name in sorted(found)}, indent=1)
    # A line for each kind, so that changes read well.
    return re.sub(r"\[\s+([^]]+?)\s+\]", lambda list_: f"[{' '.join(list_[1].split())}]", text) + "\n"


def main() -> int:
    """Write the catalogue, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where it is out of date")
    written = CATALOGUE.read_text(encoding="utf-8") if CATALOGUE.exists() else ""
    new = catalogue()
    if parser.parse_args().check:
        if new != written:
            print("the catalogue is out of date: run python tools/catalogue.py", file=sys.stderr)
        return int(new != written)
    CATALOGUE.write_text(new, encoding="utf-8")
    print(f"wrote {CATALOGUE.relative_to(ROOT)}: {len(json.loads(new))} distributions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
