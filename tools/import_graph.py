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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

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

_PATH_IN_STRING = re.compile(r"(diffloom\w*(?:\.\w+)+)(?::([\w.]+))?")


@dataclass(frozen=True)
class Import:
    """One import of a module, or of a name from it. line: where it stands in the importing file."""

    importer: str
    module: str
    name: str | None
    line: int


@dataclass(frozen=True)
class Distribution:
    """A folder with a ``pyproject.toml``: its short name, its package and the modules that others may import."""

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
    def public(self) -> frozenset[str]:
        """Modules that other distributions may import: the package, and those that ``tool.diffloom.public`` lists."""
        table = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))
        return frozenset({self.package, *table.get("tool", {}).get("diffloom", {}).get("public", [])})

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
    def imports(self) -> tuple[Import, ...]:
        """All imports of modules of this repository."""
        modules = {name for each in self.distributions.values() for name in each.modules}
        return tuple(
            found
            for each in self.distributions.values()
            for name, path in each.modules.items()
            for found in _imports_of(name, path, modules)
            if self.owner(found.module) is not None
        )

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
        owner = self.owner(module)
        assert owner is not None
        path = owner.modules[module]
        stub = path.with_suffix(".pyi")
        if stub.exists():
            tree = ast.parse(stub.read_text(encoding="utf-8"))
            imported = {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
            declared = {
                n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
            }
            return frozenset(imported | declared)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
            ):
                return frozenset(ast.literal_eval(node.value))
        return frozenset()

    def cycles(self) -> list[str]:
        """Return a line for each cycle of packages within a distribution, lazy imports left out."""
        lines = []
        for each in self.distributions.values():
            edges: dict[str, set[str]] = {}
            for found in self.imports:
                if self.owner(found.importer) is each and self.owner(found.module) is each:
                    edges.setdefault(found.importer, set()).add(found.module)
            lines += _cycles_of_packages(each.package, edges)
        return lines

    def edges(self) -> Counter[tuple[str, str]]:
        """Return how often each distribution imports from each other one, by short names."""
        found: Counter[tuple[str, str]] = Counter()
        for one in self.imports:
            here, there = self.owner(one.importer), self.owner(one.module)
            if here is not None and there is not None and here is not there:
                found[here.name, there.name] += 1
        return found


def _imports_of(name: str, path: Path, modules: set[str]) -> Iterator[Import]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, None, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inside = f"{module}.{alias.name}"
                if inside in modules:
                    yield Import(name, inside, None, node.lineno)
                else:
                    yield Import(name, module, alias.name, node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = _PATH_IN_STRING.fullmatch(node.value)
            if found is not None and found[1] in modules:
                yield Import(name, found[1], found[2], node.lineno)


def _cycles_of_packages(package: str, edges: dict[str, set[str]]) -> list[str]:
    """Return cycles among the direct subpackages and modules of a package."""

    def part(module: str) -> str:
        return ".".join(module.split(".")[:2])

    graph: dict[str, set[str]] = {}
    for importer, targets in edges.items():
        for target in targets:
            if part(importer) != part(target) and package not in (part(importer), part(target)):
                graph.setdefault(part(importer), set()).add(part(target))
    lines, done = [], set[str]()

    def visit(node: str, path: tuple[str, ...]) -> None:
        if node in path:
            lines.append(" -> ".join((*path[path.index(node) :], node)))
            return
        if node in done:
            return
        for target in sorted(graph.get(node, ())):
            visit(target, (*path, node))
        done.add(node)

    for start in sorted(graph):
        visit(start, ())
    return lines


def main() -> int:
    """Print what breaks the layers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="Only lines that begin with this module.", default="")
    arguments = parser.parse_args()
    repository = Repository()
    lines = [*repository.upward(), *repository.private()]
    shown = [line for line in lines if line.startswith(arguments.only)]
    print("\n".join(shown))
    print(f"{len(shown)} imports break the layers")
    return int(bool(shown))


if __name__ == "__main__":
    sys.exit(main())
