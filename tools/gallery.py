"""Make the gallery: run the scripts of docs/gallery and write their clips, and the pages of all:

python tools/gallery.py [NAME ...]       run these scripts, or --all; without either, write the pages only

Scripts of real recordings need DIFFLOOM_REAL_DATA; without it they cannot be run.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "gallery"
SECONDS = FOLDER / "seconds.json"
HEAD = """# Gallery

Each clip was made by a script of at most 40 lines. Take the one that is nearest to what you have in mind, and change
it: `python docs/gallery/NAME.py`.
"""


@dataclass(frozen=True)
class Entry:
    """One clip: its script, the subject it stands under, its title and text, and what to change in it."""

    name: str
    subject: str
    title: str
    text: str
    change: str
    code: str


def read_entries() -> list[Entry]:
    """Return all entries in their order."""
    found = []
    for subject in tomllib.loads((FOLDER / "gallery.toml").read_text(encoding="utf-8"))["subjects"]:
        for name, change in subject["entries"].items():
            code = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
            title, _, text = (ast.get_docstring(ast.parse(code)) or "").partition(": ")
            found.append(Entry(name, subject["title"], title, text, change, code))
    return found


def environment() -> dict[str, str]:
    """Return the variables of a script's process, which finds the plugins of examples/ without their installation."""
    sources = [str(path) for path in sorted((ROOT / "examples").glob("*/src"))]
    kept = [os.environ[name] for name in ("PYTHONPATH",) if name in os.environ]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*sources, *kept])}


def run_script(name: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Run a script, which writes its clip to ``place``."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), str(place)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment())


def write_clips(names: list[str]) -> None:
    """Run scripts, write their clips, and note how long each took."""
    seconds = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    for name in names:
        begin = time.perf_counter()
        done = run_script(name, FOLDER / f"{name}.webp")
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr[-2000:]}")
        seconds[name] = round(time.perf_counter() - begin, 1)
        print(f"{name}: {seconds[name]} s, {(FOLDER / f'{name}.webp').stat().st_size // 1024} kB {done.stdout.strip()}")
    SECONDS.write_text(json.dumps(dict(sorted(seconds.items())), indent=1) + "\n")


def pages() -> dict[Path, str]:
    """Return the pages by their place: the grid, and one for each entry."""
    entries, parts, subject = read_entries(), [HEAD], ""
    seconds = json.loads(SECONDS.read_text())
    made = {}
    for entry in entries:
        if entry.subject != subject:
            if subject:
                parts.append("\n</div>\n")
            subject = entry.subject
            parts.append(f'\n## {subject}\n\n<div class="cards" markdown>\n')
        link = f"({entry.name}.md)"
        parts.append(f"- [![{entry.title}]({entry.name}.webp)]{link}\n\n    [{entry.title}]{link}\n")
        made[FOLDER / f"{entry.name}.md"] = page(entry, seconds[entry.name])
    parts.append("\n</div>\n")
    return {FOLDER / "index.md": "\n".join(parts).replace("\n\n\n", "\n\n"), **made}


def page(entry: Entry, seconds: float) -> str:
    """Return the page of an entry: clip, text, code, time and what to change."""
    code = entry.code.split('"""', 2)[2].strip()
    return f"""# {entry.title}

{entry.text[:1].upper()}{entry.text[1:]}

<div class="clip" markdown>

![{entry.title}]({entry.name}.webp)

</div>

**Change it.** {entry.change}

`python docs/gallery/{entry.name}.py` took {seconds:.0f} s, imports, compiling and drawing included, on two cores that
other programs kept busy (a load of 10 to 35).

```python
{code}
```

[All clips](index.md)
"""


def main(given: list[str]) -> None:
    """Run the scripts that are named and write all pages."""
    names = [entry.name for entry in read_entries()]
    unknown = [name for name in given if name not in names and name != "--all"]
    if unknown:
        raise SystemExit(f"got {', '.join(unknown)}; expected names of docs/gallery/gallery.toml: {', '.join(names)}")
    write_clips(names if "--all" in given else given)
    for place, text in pages().items():
        place.write_text(text, encoding="utf-8")
    print(f"{len(names)} entries")


if __name__ == "__main__":
    main(sys.argv[1:])
