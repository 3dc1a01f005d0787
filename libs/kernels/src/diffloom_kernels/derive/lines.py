"""Generated statements: nested lines of text, and the removal of those whose results are unused."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, field


@functools.lru_cache(maxsize=65536)
def read_names(text: str) -> tuple[frozenset[str], frozenset[str], bool]:
    """Return the names that a statement assigns and reads, and whether it does nothing but assign names."""
    (statement,) = ast.parse(text).body
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    stored = frozenset(node.id for node in names if isinstance(node.ctx, ast.Store))
    read = frozenset(node.id for node in names if isinstance(node.ctx, ast.Load))
    targets = [node for node in ast.walk(statement) if isinstance(node, ast.Subscript | ast.Attribute)]
    plain = isinstance(statement, ast.Assign) and not any(isinstance(node.ctx, ast.Store) for node in targets)
    return stored, read, plain


@dataclass
class If:
    """Statement ``if``."""

    condition: str
    body: list[Line] = field(default_factory=list)
    orelse: list[Line] = field(default_factory=list)


@dataclass
class For:
    """Statement ``for``."""

    target: str
    over: str
    body: list[Line] = field(default_factory=list)


Line = str | If | For


def without_unused(lines: list[Line], live: set[str]) -> list[Line]:
    """Return the lines whose results are used; ``live`` holds the names that are read after them, and becomes those
    that are read before them.
    """
    kept: list[Line] = []
    for line in reversed(lines):
        if isinstance(line, str):
            if line.startswith("#"):
                kept.append(line)
                continue
            stored, read, plain = read_names(line)
            if plain and not stored & live:
                continue
            live -= stored
            live |= read
            kept.append(line)
        elif isinstance(line, If):
            other = set(live)
            made = If(line.condition, without_unused(line.body, live), without_unused(line.orelse, other))
            live |= other
            if made.body or made.orelse:
                live |= read_names(line.condition)[1]
                kept.append(made)
        else:
            before: set[str] | None = None
            while before != live:  # an iteration reads variables that the one before sets
                before = set(live)
                body = without_unused(line.body, live)
                live |= before
            if body:
                live |= read_names(line.over)[1]
                kept.append(For(line.target, line.over, body))
    return kept[::-1]


def names_read(lines: list[Line]) -> set[str]:
    """Return the names that lines read."""
    found: set[str] = set()
    for line in lines:
        if isinstance(line, str):
            if not line.startswith("#"):
                found |= read_names(line)[1]
        elif isinstance(line, If):
            found |= read_names(line.condition)[1] | names_read(line.body) | names_read(line.orelse)
        else:
            found |= read_names(line.over)[1] | names_read(line.body)
    return found


def render(lines: list[Line], indent: str = "    ") -> list[str]:
    """Return lines as source text."""
    made: list[str] = []
    for line in lines:
        if isinstance(line, str):
            made.append(indent + line)
        elif isinstance(line, If):
            condition, body, orelse = line.condition, line.body, line.orelse
            made += [f"{indent}if {condition}:", *render(body or ["pass"], indent + "    ")]
            if orelse:
                made += [f"{indent}else:", *render(orelse, indent + "    ")]
        else:
            made += [f"{indent}for {line.target} in {line.over}:", *render(line.body, indent + "    ")]
    return made
