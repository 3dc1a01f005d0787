"""Run the scripts in docs/notebooks, cell by cell, and write each as a page and as a notebook with their outputs:

python tools/notebooks.py [NAME ...]
"""

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
ADDRESS = "https://github.com/diffloom/diffloom/blob/main"
INSTALL = "%pip install -q diffloom"


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


def run(code: str, names: dict[str, Any]) -> list[tuple[str, str]]:
    """Return ("text" or "html", content) of what a cell prints and of the value of its last expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    found = [("text", said.getvalue().rstrip())] if said.getvalue().strip() else []
    if value is not None:
        found.append(("html", value._repr_html_() if hasattr(value, "_repr_html_") else f"<pre>{value!r}</pre>"))
    return found


def execute(path: Path) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return kind, content and outputs of each cell of a script."""
    # A module, so that what cells define can be pickled as from a file.
    names = ModuleType(f"notebook_{path.stem}").__dict__
    return [
        (kind, content.strip() if kind == "markdown" else content, run(content, names) if kind == "code" else [])
        for kind, content in cells(path.read_text(encoding="utf-8"))
    ]


def page(executed: list[tuple[str, str, list[tuple[str, str]]]]) -> str:
    """Return the page of the cells."""
    parts = []
    for kind, content, outputs in executed:
        parts.append(content if kind == "markdown" else f"```python\n{content}\n```")
        for form, shown in outputs:
            lines = "\n".join(line for line in shown.splitlines() if line.strip() or form == "text")
            parts.append(f"```text\n{lines}\n```" if form == "text" else f'<div class="output">\n{lines}\n</div>')
    return "\n\n".join(parts) + "\n"


def notebook(executed: list[tuple[str, str, list[tuple[str, str]]]]) -> str:
    """Return the same as a notebook, which begins with a cell that installs diffloom."""
    made = [_cell("markdown", "Run this cell first on a machine without diffloom, such as one of Colab."),
            _cell("code", INSTALL)]  # fmt: skip
    for kind, content, outputs in executed:
        shown = []
        for form, text in outputs:
            if form == "text":
                shown.append({"output_type": "stream", "name": "stdout", "text": text + "\n"})
            else:
                shown.append({"output_type": "display_data", "data": {"text/html": text}, "metadata": {}})
        made.append(_cell(kind, absolute(content) if kind == "markdown" else content, shown))
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _cell(kind: str, source: str, outputs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source}
    return made if kind == "markdown" else {**made, "execution_count": None, "outputs": outputs or []}


def absolute(text: str) -> str:
    """Return Markdown whose links to other pages lead to the repository."""

    def turned(found: re.Match[str]) -> str:
        place = os.path.relpath((FOLDER / found[1]).resolve(), FOLDER.parents[1])
        return f"]({ADDRESS}/{place}{found[2] or ''})"

    return re.sub(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)", turned, text)


def main(wanted: list[str]) -> None:
    """Write the pages."""
    here = Path.cwd()
    for path in sorted(FOLDER.glob("*.py")):
        if not wanted or path.stem in wanted:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                executed = execute(path)
                os.chdir(here)
            text = page(executed)
            path.with_suffix(".md").write_text(text, encoding="utf-8")
            path.with_suffix(".ipynb").write_text(notebook(executed), encoding="utf-8")
            print(f"{path.stem}.md: {len(text) // 1024} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
