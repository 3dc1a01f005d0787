"""Run the scripts in docs/notebooks, cell by cell, and write each as a page with what its cells show:

python tools/notebooks.py [NAME ...]
"""

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def cells(text: str) -> list[tuple[str, str]]:
    """("markdown" or "code", content) of each cell; cells begin with `# %%`."""
    found = []
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            found.append(
                ("markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines()))
            )
        else:
            found.append(("code", body.strip()))
    return found


def run(code: str, names: dict[str, Any]) -> str:
    """Return the text that a cell prints, followed by the value of its last expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    parts = [f"```text\n{said.getvalue().rstrip()}\n```"] if said.getvalue().strip() else []
    if value is not None:
        shown = value._repr_html_() if hasattr(value, "_repr_html_") else f"<pre>{value!r}</pre>"
        parts.append(
            '<div class="output">\n' + "\n".join(line for line in shown.splitlines() if line.strip()) + "\n</div>"
        )
    return "\n\n".join(parts)


def page(path: Path) -> str:
    """The whole page."""
    # A module, so that what cells define can be pickled as from a file.
    names = ModuleType(f"notebook_{path.stem}").__dict__
    parts = []
    for kind, content in cells(path.read_text(encoding="utf-8")):
        if kind == "markdown":
            parts.append(content.strip())
            continue
        parts.append(f"```python\n{content}\n```")
        output = run(content, names)
        if output:
            parts.append(output)
    return "\n\n".join(parts) + "\n"


def main(wanted: list[str]) -> None:
    """Write the pages."""
    here = Path.cwd()
    for path in sorted(FOLDER.glob("*.py")):
        if not wanted or path.stem in wanted:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                text = page(path)
                os.chdir(here)
            path.with_suffix(".md").write_text(text, encoding="utf-8")
            print(f"{path.stem}.md: {len(text) // 1024} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
