"""The field's words in names, experiment files and documentation; words of our own that were given up stay out.

Old names that are still served stand in calls of ``diffloom.deprecation``, in ``formerly=`` and in the table of old
names of experiment files, which define nothing and so are not seen here.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Replacement of each word.
INSTEAD = {
    "dress": "appearance", "dressed": "appearance", "film": "video", "filmed": "recorded", "films": "videos",
    "foreign": "cross_renderer", "held": "holdout, fixed", "hops": "basin_hopping", "lent": "kept",
    "look": "appearance",
    "looks": "appearance", "mate": "adjoint", "overlap": "iou", "paint": "shade", "picture": "image",
    "pictures": "images", "room": "workspace", "see": "rasterise", "spin": "angular_velocity", "spread": "broadcast",
    "survey": "coverage, installed_registry", "twin": "adjoint", "twins": "adjoints", "veil": "blend",
}  # fmt: skip
#: Words that are forbidden in prose too; the rest are everyday English there.
PROSE = set(INSTEAD) - {"held", "look", "looks", "overlap", "room", "see", "spin", "spread"}
#: Names of other libraries, and of things that are called so everywhere.
ALLOWED = {"look_at"}

SOURCES = sorted(
    path for folder in (*ROOT.glob("*/src"), *ROOT.glob("*/*/src"))
    for path in folder.rglob("*.py")
)  # fmt: skip
DOCUMENTS = sorted([
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md"),
    *ROOT.glob("core/**/*.md"), *ROOT.glob("libs/**/*.md"), *ROOT.glob("libs/**/*.in"), *ROOT.glob("experiments/*.md"),
    *ROOT.glob("examples/**/*.md"),
    *ROOT.glob("experiments/*.toml"), *ROOT.glob("examples/**/*.toml"),
])  # fmt: skip


def words(name: str) -> list[str]:
    """The words of a name: SomeThing_else -> some, thing, else."""
    return re.findall(r"[a-z]+", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower())


def given_up(name: str) -> list[str]:
    return [] if name in ALLOWED else [word for word in words(name) if word in INSTEAD]


def named(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines: functions, classes, their arguments and fields, and constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((a.lineno, a.arg) for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
        if isinstance(node, ast.ClassDef | ast.Module):
            for line in node.body:
                targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
                yield from ((line.lineno, target.id) for target in targets if isinstance(target, ast.Name))


def test_names_use_the_fields_words():
    assert len(SOURCES) > 300
    faults = []
    for path in SOURCES:
        place = path.relative_to(ROOT)
        faults += [f"{place}: {word!r} in its name" for word in given_up(path.stem)]
        for line, name in named(ast.parse(path.read_text())):
            faults += [f"{place}:{line}: {name}: write {INSTEAD[word]}, not {word}" for word in given_up(name)]
    assert not faults, "\n".join(faults)


def keys(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from keys(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from keys(value)


def test_keys_of_experiment_files_use_the_fields_words():
    schema = pytest.importorskip("diffloom_experiments.schema")
    found = set(keys(schema.ExperimentFile.model_json_schema()))
    assert len(found) > 60
    assert not {key: INSTEAD[word] for key in found for word in given_up(key)}


def test_documents_use_the_fields_words():
    assert len(DOCUMENTS) > 30
    faults = []
    for path in DOCUMENTS:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for word in PROSE & set(re.findall(r"[a-z]+", line.lower())):
                faults.append(f"{path.relative_to(ROOT)}:{number}: write {INSTEAD[word]}, not {word}: {line.strip()}")
    assert not faults, "\n".join(faults)


def test_a_forbidden_word_is_found():
    assert given_up("read_film") == ["film"]
    assert given_up("LookTable") == ["look"]
    assert given_up("look_at") == []
    tree = ast.parse("def see(film):\n    pass\nclass A:\n    spread: int = 0\n")
    assert [name for _, name in named(tree) if given_up(name)] == ["see", "film", "spread"]
