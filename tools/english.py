"""Check the English of docstrings and comments, and that everything public lists its parameters.

``python tools/english.py plugins/fitting`` prints what breaks the rules in one package; without a folder, in all of
them. CONTRIBUTING.md has the rules. ``--rule`` selects one of "opening", "construction" and "reference".
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from import_graph import ROOT, Distribution, Repository

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

#: Words that open no docstring, because neither a verb nor a noun follows in time to say what the thing is.
OPENINGS = re.compile(
    r"what|those|of|whether|who|whose|whom|nobody|how|where|which|as|with|from|for|to|in|by|why|when|if|that|so|its?|"
    r"they|their|them|there|itself|than|whatever|whoever|somebody|something|nothing|everything|say|tell|let|at|on|over|"
    r"under|into|onto|out|after|before|until|without|between|among|through|because|only|also|and|but|or|both|then|"
    r"the\s+same",
    re.IGNORECASE,
)
#: Words that open no comment either.
COMMENT_OPENINGS = re.compile(
    r"what|those|of|whether|who|whose|whom|nobody|how|whatever|whoever|somebody|the\s+same", re.IGNORECASE
)

#: Advice by forbidden construction.
CONSTRUCTIONS = {
    r"nobody|no one|somebody|someone|anybody|anyone|whoever|whomever": "name the subject",
    r"what (?:is|was|are|were)": "name the thing",
    r"whatever|whichever": "name the thing, or write 'any'",
    r"(?<!\band )(?<!\bor )others|the other's|else's": "name the things",
    r"as (?:it|they) (?:is|was|are|were)": "write 'unchanged', or name the state",
    r"by (?:it|them)sel(?:f|ves)": "write 'alone' or 'automatically'",
    r"such(?! as\b| an?\b| that\b)": "repeat the noun",
}

Rule = Literal["opening", "construction", "reference"]


@dataclass(frozen=True)
class Fault:
    """A place in a file that breaks a rule.

    Args:
        path: The file.
        line: Its line, from 1.
        rule: "opening", "construction" or "reference".
        text: Sentence that says which word or parameter it is.
    """

    path: Path
    line: int
    rule: Rule
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.rule}: {self.text}"


def folders() -> list[str]:
    """Return the folders whose English is checked, relative to the root."""
    packages = sorted(one.folder.relative_to(ROOT).as_posix() for one in Repository().distributions.values())
    return [*packages, "benchmarks", "docs", "examples", "experiments", "tests", "tools"]


def sources(folder: str) -> list[Path]:
    """Return the Python files below a folder that are checked."""
    left_out = {"build", "site", "results"}
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if not left_out & set(path.parts)]


def faults(folder: str) -> list[Fault]:
    """Return everything in a folder that breaks the rules.

    Args:
        folder: One of ``folders()``.

    Returns:
        The faults, by file and line.
    """
    found = [fault for path in sources(folder) for fault in text_faults(path, path.read_text(encoding="utf-8"))]
    for one in Repository().distributions.values():
        if one.folder == ROOT / folder:
            found += reference_faults(one)
    return sorted(found, key=lambda fault: (fault.path, fault.line, fault.rule))


def text_faults(path: Path, code: str) -> Iterator[Fault]:
    """Yield the openings and constructions in docstrings and comments of a file that break the rules.

    Args:
        path: Name of the file, for the faults.
        code: Its contents.
    """
    for line, text in docstrings(code):
        yield from _opening(path, line, text, OPENINGS)
        yield from _constructions(path, line, text)
    for line, text, documents in comments(code):
        yield from _opening(path, line, text, OPENINGS if documents else COMMENT_OPENINGS)
        yield from _constructions(path, line, text)


def docstrings(code: str) -> Iterator[tuple[int, str]]:
    """Yield each docstring with the line on which it begins."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Module | Definition):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield node.body[0].lineno, text


def comments(code: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each comment, consecutive lines joined: its line, its text, and True if it documents a name (``#:``)."""
    lines: dict[int, tuple[int, str]] = {}  # by line: the column, or -1 after code, and the text
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(?:noqa|type:|fmt:|!|pragma|mypy)", token.string):
            row, column = token.start
            lines[row] = (-1 if token.line[:column].strip() else column, token.string)
    for row, (column, text) in lines.items():
        if column < 0:
            yield row, text.lstrip("#: "), text.startswith("#:")
        elif lines.get(row - 1, (-1, ""))[0] != column:
            block = [text]
            while lines.get(row + len(block), (-1, ""))[0] == column:
                block.append(lines[row + len(block)][1])
            yield row, "\n".join(line.lstrip("#: ") for line in block), text.startswith("#:")


def _opening(path: Path, line: int, text: str, forbidden: re.Pattern[str]) -> Iterator[Fault]:
    found = re.match(rf"\s*({forbidden.pattern})\b", text, flags=re.IGNORECASE)
    if found is not None:
        shown = " ".join(text.split())[:70]
        yield Fault(path, line, "opening", f"begins with {found[1]!r}: {shown}")


def _constructions(path: Path, line: int, text: str) -> Iterator[Fault]:
    # Code and quoted texts keep their length, so that the line stays right.
    prose = re.sub(r"``[^`]*``|`[^`]*`|\"[^\"\n]*\"", lambda found: re.sub(r"[^\n]", "x", found[0]), text)
    for pattern, advice in CONSTRUCTIONS.items():
        for found in re.finditer(rf"\b(?:{pattern})\b".replace(" (", r"\s+("), prose, flags=re.IGNORECASE):
            place = line + prose[: found.start()].count("\n")
            shown = " ".join(text[max(found.start() - 30, 0) : found.end() + 25].split())
            yield Fault(path, place, "construction", f"{' '.join(found[0].split())!r}, {advice}: ... {shown} ...")


def public_definitions(distribution: Distribution) -> Iterator[tuple[str, Path, Definition]]:
    """Yield the classes and functions that a distribution's public modules export.

    Args:
        distribution: The distribution.

    Yields:
        Dotted public name, file and syntax tree of each; one that several modules export comes once.
    """
    repository = Repository()
    seen = set()
    for module in sorted(distribution.public):
        for name in sorted(repository.exports(module)):
            found = definition(repository, module, name)
            if found is not None and found not in seen and found[0].is_relative_to(distribution.folder):
                seen.add(found)
                yield f"{module}.{name}", *found


def definition(repository: Repository, module: str, name: str) -> tuple[Path, Definition] | None:
    """Return the file and the syntax tree of a class or function that a module defines or imports; else None."""
    path = repository.modules.get(module)
    if path is None:
        return None
    for file in (path, path.with_suffix(".pyi")):
        if not file.exists():
            continue
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in _tree(file).body:
            if isinstance(node, Definition) and node.name == name:
                return file, node
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        parts = package.split(".")
                        base = parts[: len(parts) + 1 - node.level] if node.level else []
                        return definition(repository, ".".join([*base, *filter(None, [node.module])]), alias.name)
    return None


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def reference_faults(distribution: Distribution) -> Iterator[Fault]:
    """Yield what the docstrings of public names leave out: parameters, fields and results.

    Args:
        distribution: Distribution whose public modules are read. Device code and kernels need no ``Args:``.
    """
    for name, path, node in public_definitions(distribution):
        if re.search(r"(?:^|_)kernels(?:_|\.|$)", path.name) or _is_device_code(node):
            continue
        yield from _missing(path, node, name)
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) or method.name.startswith("_"):
                    continue
                if ast.get_docstring(method) is not None:
                    yield from _missing(path, method, f"{name}.{method.name}")


def _is_device_code(node: Definition) -> bool:
    marks = {ast.unparse(mark).split("(")[0].rpartition(".")[2] for mark in node.decorator_list}
    return bool(marks & {"device", "generic", "kernel", "overload", "intrinsic"})


def _missing(path: Path, node: Definition, name: str) -> Iterator[Fault]:
    text = ast.get_docstring(node) or ""
    if not text:
        yield Fault(path, node.lineno, "reference", f"{name} has no docstring")
        return
    entries = documented(text)
    missing = [parameter for parameter in parameters(node) if parameter not in entries]
    if missing:
        yield Fault(path, node.lineno, "reference", f"{name}: no entry in Args: for {', '.join(missing)}")
    extra = sorted(entries - set(parameters(node))) if isinstance(node, ast.FunctionDef) else []
    if extra:
        yield Fault(path, node.lineno, "reference", f"{name}: Args: lists {', '.join(extra)}, which it does not take")
    if returns_something(node) and not re.search(r"^(?:Returns|Yields):$", text, flags=re.MULTILINE):
        yield Fault(path, node.lineno, "reference", f"{name}: no Returns:")


def documented(docstring: str) -> set[str]:
    """Return the names that the sections ``Args:`` and ``Attributes:`` of a docstring list."""
    names = set()
    for section in re.findall(r"^(?:Args|Attributes):\n((?:[ \t]+.*\n?|\n)*)", docstring, flags=re.MULTILINE):
        indent = len(section) - len(section.lstrip())
        for entry in re.findall(rf"^ {{{indent}}}([\w*`, ]+?)(?: ?\([^)\n]*\))?:", section, flags=re.MULTILINE):
            names |= {name.strip().strip("`").lstrip("*") for name in entry.split(",")}
    return names


def parameters(node: Definition) -> list[str]:
    """Return the names of a function's parameters, or of those of a class's constructor."""
    if isinstance(node, ast.ClassDef):
        constructor = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        if constructor:
            # Parameters that the docstring of the constructor lists itself are documented.
            own = documented(ast.get_docstring(constructor[0]) or "")
            return [name for name in parameters(constructor[0]) if name not in own]
        return fields(node)
    given = node.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg) if one]
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def fields(node: ast.ClassDef) -> list[str]:
    """Return the public fields of a dataclass, named tuple, typed dictionary or model of pydantic."""
    marks = {ast.unparse(mark).split("(")[0].rpartition(".")[2] for mark in node.decorator_list}
    bases = {ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases}
    if "dataclass" not in marks and not bases & {"NamedTuple", "TypedDict", "BaseModel"}:
        return []
    names = []
    for one in node.body:
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        value = ast.unparse(one.value) if one.value is not None else ""
        hidden = one.target.id.startswith("_") or "ClassVar" in ast.unparse(one.annotation) or "init=False" in value
        if not hidden and "description=" not in value:
            names.append(one.target.id)
    return names


def returns_something(node: Definition) -> bool:
    """Return True if a function's annotation says that it returns a value and it is no property."""
    if isinstance(node, ast.ClassDef) or node.returns is None:
        return False
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
    if marks & {"property", "cached_property", "setter"}:
        return False
    return ast.unparse(node.returns) not in ("None", "NoReturn", "Never", "Self", "'Self'")


def main() -> int:
    """Print what breaks the rules."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="Packages, such as plugins/fitting; all where none is given.")
    parser.add_argument("--rule", choices=["opening", "construction", "reference"], help="Show this rule alone.")
    parser.add_argument("--count", action="store_true", help="Print counts, not places.")
    arguments = parser.parse_args()
    total = 0
    for folder in [name.rstrip("/") for name in arguments.folders] or folders():
        found = [fault for fault in faults(folder) if arguments.rule in (None, fault.rule)]
        total += len(found)
        if arguments.count:
            rules = Counter(fault.rule for fault in found)
            print(f"{folder:28} {'  '.join(f'{rule} {count}' for rule, count in sorted(rules.items()))}".rstrip())
        else:
            print("\n".join(map(str, found)), end="\n" if found else "")
    print(f"{total} places break the rules")
    return int(bool(total))


if __name__ == "__main__":
    sys.exit(main())
