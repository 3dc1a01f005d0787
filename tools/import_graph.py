"""Import graph of the repository, read from the syntax trees: lazy imports and import paths in strings included.

``python tools/import_graph.py`` prints what breaks the layers; ``--svg FILE`` draws the graph of the distributions.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Set as AbstractSet
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]

#: Layers from the bottom up. A distribution imports from lower layers only.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("core",),
    ("kernels",),
    ("geometry", "raster"),
    ("mechanics",),
    ("testing",),
    ("physics_*", "render_*", "fitting"),
    ("video",),
    ("control",),
    ("experiments",),
    ("motion", "scale"),
    ("studio",),
    ("viewer",),
)

#: Distributions of packages that come with another one, or of optional libraries, which may not be installed.
PROVIDERS = {
    "IPython": "ipython",
    "llvmlite": "numba",
    "pxr": "usd-core",
    "pydantic_core": "pydantic",
    "rerun": "rerun-sdk",
}

_PATH_IN_STRING = re.compile(r"(diffloom\w*(?:\.\w+)+)(?::([\w.]+))?")


@dataclass(frozen=True)
class Import:
    """One import of a module, or of a name from it.

    Args:
        importer: Module that imports.
        module: Imported module.
        name: Name that is imported from it; None where the module itself is.
        line: Line in the importing file.
        runs: When it runs: "at import", "later" (in a function, or an import path in a string) or "never" (for type
            checkers only).
    """

    importer: str
    module: str
    name: str | None
    line: int
    runs: Literal["at import", "later", "never"] = "at import"


@dataclass(frozen=True)
class Distribution:
    """A folder with a ``pyproject.toml``: its short name, its package and its public modules."""

    folder: Path

    @property
    def name(self) -> str:
        """Name of the folder, such as "physics_fem"."""
        return self.folder.name

    @cached_property
    def package(self) -> str:
        """Name of the import package."""
        return next(path.parent.name for path in self.folder.glob("src/*/__init__.py"))

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Contents of its ``pyproject.toml``."""
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))

    @cached_property
    def public(self) -> frozenset[str]:
        """Modules that other distributions may import: the package, and those that ``tool.diffloom.public`` lists."""
        return frozenset({self.package, *self.metadata.get("tool", {}).get("diffloom", {}).get("public", [])})

    @property
    def dependencies(self) -> frozenset[str]:
        """Normalised names of the distributions that it depends on, without those of extras."""
        return _requirements(self.metadata["project"].get("dependencies", []))

    @property
    def extras(self) -> frozenset[str]:
        """Normalised names of the distributions that its extras bring."""
        extras = self.metadata["project"].get("optional-dependencies", {})
        return frozenset().union(*(_requirements(lines) for lines in extras.values()))

    @cached_property
    def modules(self) -> dict[str, Path]:
        """File of each module."""
        source = self.folder / "src"
        found = {}
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        return found

    @property
    def layer(self) -> int:
        """Position of its layer, from the bottom."""
        for number, names in enumerate(LAYERS):
            if any(re.fullmatch(name.replace("*", r"\w+"), self.name) for name in names):
                return number
        raise LookupError(f"{self.name} stands in no layer: add it to LAYERS in tools/import_graph.py")


@dataclass(frozen=True)
class Repository:
    """All distributions below a root folder."""

    root: Path = ROOT

    @cached_property
    def distributions(self) -> dict[str, Distribution]:
        """Distributions by import package."""
        folders = [self.root / "core", *sorted(self.root.glob("libs/*/")), *sorted(self.root.glob("plugins/*/"))]
        found = [Distribution(folder) for folder in folders if (folder / "pyproject.toml").exists()]
        return {each.package: each for each in found}

    def owner(self, module: str) -> Distribution | None:
        """Return the distribution of a module."""
        return self.distributions.get(module.partition(".")[0])

    @cached_property
    def modules(self) -> dict[str, Path]:
        """File of each module of every distribution."""
        return {name: path for each in self.distributions.values() for name, path in each.modules.items()}

    @cached_property
    def all_imports(self) -> tuple[Import, ...]:
        """All imports, also of modules outside this repository."""
        return tuple(
            found for name, path in self.modules.items() for found in _imports_of(name, path, self.modules.keys())
        )

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All imports of modules of this repository."""
        return tuple(found for found in self.all_imports if self.owner(found.module) is not None)

    def imports_of_file(self, path: Path) -> tuple[Import, ...]:
        """Return the imports of a file that belongs to none of the distributions, such as one of an example."""
        return tuple(_imports_of(path.stem, path, self.modules.keys()))

    def upward(self) -> list[str]:
        """Return a line for each import of a distribution in the same or a higher layer."""
        lines = []
        for found in self.imports:
            here, there = self.owner(found.importer), self.owner(found.module)
            assert here is not None
            assert there is not None
            if here is not there and there.layer >= here.layer:
                lines.append(f"{found.importer}:{found.line} imports {found.module} of a higher or equal layer")
        return lines

    def private(self) -> list[str]:
        """Return a line for each import from another distribution that is not public."""
        lines = []
        for found in self.imports:
            here, there = self.owner(found.importer), self.owner(found.module)
            if here is there or there is None:
                continue
            if found.module not in there.public:
                lines.append(f"{found.importer}:{found.line} imports {found.module}, which is not public")
            elif found.name is not None and found.name not in self.exports(found.module):
                lines.append(
                    f"{found.importer}:{found.line} imports {found.name}, which {found.module} does not export"
                )
        return lines

    def exports(self, module: str) -> frozenset[str]:
        """Return the names that a public module exports: those of its stub, else of its ``__all__``."""
        path = self.modules[module]
        if path.with_suffix(".pyi").exists():
            return frozenset(_homes(path))
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
            ):
                return frozenset(ast.literal_eval(node.value))
        return frozenset()

    def cycles(self) -> list[str]:
        """Return a line for each group of modules that import each other when they are imported.

        Imports in functions and for type checkers are left out. A name from a package with a stub counts as an import
        of the module that the stub names, because that is what runs.
        """
        graph: dict[str, set[str]] = {name: set() for name in self.modules}
        for found in self.imports:
            if found.runs != "at import" or found.module not in self.modules:
                continue
            path = self.modules[found.module]
            home = found.module
            if found.name is not None and path.with_suffix(".pyi").exists():
                home = _homes(path).get(found.name) or found.module
            graph[found.importer].add(home)
        return [" <-> ".join(sorted(group)) for group in _strongly_connected(graph)]

    def wrong_dependencies(self) -> list[str]:
        """Return a line for each distribution that is imported and not required, or required and not imported."""
        lines = []
        names = {each.package: each.metadata["project"]["name"] for each in self.distributions.values()}
        providers = dict(packages_distributions()) | {top: [name] for top, name in PROVIDERS.items()}
        for each in self.distributions.values():
            needed, seen = set(), set()
            for found in self.all_imports:
                top = found.module.partition(".")[0]
                if found.importer not in each.modules or top == each.package or top in sys.stdlib_module_names:
                    continue
                found_in = {normalise(name) for name in ([names[top]] if top in names else providers.get(top, [top]))}
                seen |= found_in
                if found.runs != "never" and not found_in & (each.dependencies | each.extras):
                    needed.add(f"{each.name} imports {top} ({found.importer}:{found.line}) and does not require it")
            lines += sorted({line.partition(" (")[0]: line for line in sorted(needed)}.values())
            lines += [
                f"{each.name} requires {name} and does not import it" for name in sorted(each.dependencies - seen)
            ]
        return lines

    def edges(self) -> Counter[tuple[str, str]]:
        """Return how often each distribution imports from each other one, by short names."""
        found: Counter[tuple[str, str]] = Counter()
        for one in self.imports:
            here, there = self.owner(one.importer), self.owner(one.module)
            if here is not None and there is not None and here is not there:
                found[here.name, there.name] += 1
        return found


def normalise(name: str) -> str:
    """Return the name of a distribution as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(normalise(re.match(r"[\w.-]+", line)[0]) for line in lines)  # type: ignore[index]


@cache
def _homes(path: Path) -> dict[str, str | None]:
    """Return the module of each name that the stub beside a file declares; None for one that is declared there."""
    homes: dict[str, str | None] = {}
    for node in ast.parse(path.with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            homes |= {alias.asname or alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            homes[node.target.id] = None
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            homes[node.name] = None
    return homes


def _imports_of(name: str, path: Path, modules: AbstractSet[str]) -> Iterator[Import]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]

    def visit(node: ast.AST, runs: Literal["at import", "later", "never"]) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, None, node.lineno, runs)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inside = f"{module}.{alias.name}"
                given = (inside, None) if inside in modules else (module, alias.name)
                yield Import(name, *given, node.lineno, runs)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = _PATH_IN_STRING.fullmatch(node.value)
            if found is not None and found[1] in modules:
                yield Import(name, found[1], found[2], node.lineno, "never" if runs == "never" else "later")
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from visit(child, "never")
            for child in node.orelse:
                yield from visit(child, runs)
        else:
            inside_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, "later" if inside_function and runs == "at import" else runs)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), "at import")


def _strongly_connected(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of two or more nodes that reach each other, and nodes that point to themselves (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1 or node in graph.get(node, ()):
                groups.append(group)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return groups


def main() -> int:
    """Print what breaks the layers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="Only lines that begin with this module.", default="")
    arguments = parser.parse_args()
    repository = Repository()
    lines = [*repository.upward(), *repository.private(), *repository.cycles(), *repository.wrong_dependencies()]
    shown = [line for line in lines if line.startswith(arguments.only)]
    print("\n".join(shown))
    print(f"{len(shown)} imports break the layers")
    return int(bool(shown))


if __name__ == "__main__":
    sys.exit(main())
