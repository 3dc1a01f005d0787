"""``diffloom plugins new``: write a plugin to start from, installable and passing its tests."""

import keyword
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from diffloom.plugins import survey
from diffloom.plugins.kinds import INTEGRATORS, MODELS, RENDERERS

SUFFIX = ".in"
_TERM = "| `term.py` | the force as a term of mechanics |"
_FILES = {
    "physics_compiled": _TERM + "\n| `kernels.py` | the numbers: the force and its adjoint, compiled |",
    "physics_torch": _TERM.replace("term of mechanics", "term of mechanics, in plain PyTorch"),
    "render": "",
    "integrator": "",
}
_CLASSES = {"physics": "Model", "render": "Renderer", "integrator": "Integrator"}


@click.group()
def new() -> None:
    """Write a new plugin: an installable package with tests that pass."""


def _into(function: click.decorators.FC) -> click.decorators.FC:
    path = click.Path(file_okay=False, path_type=Path)
    return click.option("--into", type=path, default=Path(), help="Where to put its folder; here if not given.")(
        function
    )


@new.command()
@click.argument("name")
@click.option("--torch", "in_torch", is_flag=True, help="The force in plain PyTorch, without an adjoint of its own.")
@_into
def physics(name: str, in_torch: bool, into: Path) -> None:
    """Write a physical model called NAME, with a compiled force and its adjoint."""
    form = "physics_torch" if in_torch else "physics_compiled"
    _write(Package("physics", _checked(name, MODELS.singular)), ("physics", form), _FILES[form], into)


@new.command()
@click.argument("name")
@_into
def render(name: str, into: Path) -> None:
    """Write a renderer called NAME, in plain PyTorch."""
    _write(Package("render", _checked(name, RENDERERS.singular)), ("render",), _FILES["render"], into)


@new.command()
@click.argument("name")
@_into
def integrator(name: str, into: Path) -> None:
    """Write an integrator called NAME, compiled from its kicks and drifts."""
    package = Package("integrator", _checked(name, INTEGRATORS.singular))
    _write(package, ("integrator",), _FILES["integrator"], into)


@dataclass(frozen=True)
class Package:
    """The names of a new package. kind: "physics", "render" or "integrator"; name: what it offers is called."""

    kind: str
    name: str

    @property
    def distribution(self) -> str:
        """What pip calls it."""
        return f"diffloom-{self.kind}-{self.name.replace('_', '-')}"

    def fill(self, text: str, listing: str) -> str:
        """A template's text, or path, with the names filled in."""
        words = {
            "__NAME__": self.name,
            "__PACKAGE__": self.distribution.replace("-", "_"),
            "__DISTRIBUTION__": self.distribution,
            "__CLASS__": "".join(part.capitalize() for part in self.name.split("_")) + _CLASSES[self.kind],
            "__FILES__": listing,
            # Folders called "tests" are left out where this package is packed.
            "__TESTS__": "tests",
        }
        for word, value in words.items():
            text = text.replace(word, value)
        return text


def _checked(name: str, kind: str) -> str:
    """``name`` if a plugin and a module may be called so and nobody has taken it."""
    found = name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", found) or keyword.iskeyword(found):
        raise click.ClickException(
            f"{name!r} cannot be a name: use lower case letters and digits, joined by '_', starting with a letter"
        )
    registry = survey()
    for each in (MODELS, INTEGRATORS, RENDERERS):
        if each.singular == kind and found in registry.names(each):
            article = "an" if kind[0] in "aeiou" else "a"
            owner = registry.entry(each, found).origin
            raise click.ClickException(f"there is {article} {kind} {found!r} already, of {owner}; choose another name")
    return found


def _write(package: Package, templates: tuple[str, ...], listing: str, into: Path) -> None:
    folder = into / package.distribution
    if folder.exists():
        raise click.ClickException(f"{folder} is there already; move it away or choose another name")
    root = files("diffloom.cli.plugins") / "templates"
    for template in templates:
        for source, path in _files_of(root / template):
            target = folder / package.fill(path.removesuffix(SUFFIX), listing)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(package.fill(source.read_text(encoding="utf-8"), listing), encoding="utf-8")
            click.echo(f"wrote {target}")
    click.echo(
        f"\nNext:\n  pip install -e '{folder}[test]'\n  diffloom plugins check {package.name}\n  pytest {folder}"
    )


def _files_of(folder: Traversable, prefix: str = "") -> list[tuple[Traversable, str]]:
    found: list[tuple[Traversable, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _files_of(entry, f"{path}/")
        elif path.endswith(SUFFIX):
            found.append((entry, path))
    return found
