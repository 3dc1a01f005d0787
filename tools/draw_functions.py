"""Draw functions at random and print their signature and docstring: each must be understandable without its body.

    python tools/draw_functions.py --seed 7 --count 20

Packages are drawn first, without repetition until each had its turn, then a function or method of the package's source.
"""

from __future__ import annotations

import argparse
import ast
import random
import textwrap
from pathlib import Path

from import_graph import ROOT, Distribution, Repository


def draw(count: int, seed: int) -> list[tuple[str, Path, ast.FunctionDef]]:
    """Return functions of all packages.

    Args:
        count: Number of functions.
        seed: Seed of the draw.

    Returns:
        The dotted name, the file and the syntax tree of each.
    """
    source = random.Random(seed)
    packages = sorted(Repository().distributions.values(), key=lambda one: one.name)
    order: list[Distribution] = []
    while len(order) < count:
        order += source.sample(packages, len(packages))
    found = []
    for package in order[:count]:
        candidates = [
            (f"{module}.{name}", path, node)
            for module, path in sorted(package.modules.items())
            for name, node in functions(ast.parse(path.read_text(encoding="utf-8")))
        ]
        found.append(source.choice(candidates))
    return found


def functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Return the functions of a module and the methods of its classes that have a docstring.

    A method without one implements an interface, which documents it.
    """
    found = []
    for node in tree.body:
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(one, ast.FunctionDef) and ast.get_docstring(one) is not None:
                found.append((owner + one.name, one))
    return found


def describe(name: str, path: Path, node: ast.FunctionDef) -> str:
    """Return the place, signature and docstring of a function as text.

    Args:
        name: Dotted name.
        path: File that defines it.
        node: Its syntax tree.
    """
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    marks = "".join(f"@{ast.unparse(mark)}\n" for mark in node.decorator_list)
    signature = f"{marks}def {node.name}({ast.unparse(node.args)}){result}"
    text = textwrap.indent(ast.get_docstring(node) or "(no docstring)", "    ")
    return f"{name}  ({path.relative_to(ROOT)}:{node.lineno})\n{signature}\n{text}\n"


def main() -> None:
    """Print the drawn functions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="Seed of the draw.")
    parser.add_argument("--count", type=int, default=20, help="Number of functions.")
    given = parser.parse_args()
    for number, drawn in enumerate(draw(given.count, given.seed), 1):
        print(f"{number}. {describe(*drawn)}")


if __name__ == "__main__":
    main()
