"""Command ``diffloom plugins new``: write an installable plugin with tests that pass."""

import keyword
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from diffloom.plugins import installed_registry

SUFFIX = ".in"
#: Most letters of a name; with prefix and ending it names files and folders.
LONGEST_NAME = 64
_TERM = "| `term.py` | the force as a term of mechanics |"
_FILES = {
    "physics_compiled": _TERM + "\n| `kernels.py` | the numbers: the force and its adjoint, compiled |",
    "physics_torch": _TERM.replace("term of mechanics", "term of mechanics, in plain PyTorch"),
}
_CLASSES = {"physics": "Model", "render": "Renderer", "command": "Command"}
#: Templates with one form: the singular of the kind that they register, and the object of "write".
_KINDS = {
    "render": ("renderer", "a renderer called NAME, in plain PyTorch"),
    "integrator": ("integrator", "an integrator called NAME, compiled from its kicks and drifts"),
    "term": ("term", "a force term called NAME, in plain PyTorch, that any model may use"),
    "loss": ("loss", "a loss called NAME"),
    "optimiser": ("optimiser", "an optimiser called NAME"),
    "command": ("command", "a command called NAME of the command line"),
}


@click.group()
def new() -> None:
    """Write a new plugin: an installable package with tests that pass."""


def _into(function: click.decorators.FC) -> click.decorators.FC:
    """Add the option ``--into`` to a command."""
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
    _write(Package("physics", _check_name(name, "model")), ("physics", form), _FILES[form], into)


def _add(kind: str) -> None:
    """Add the command for a kind of template with one form."""
    offers, summary = _KINDS[kind]

    @new.command(kind, help=f"Write {summary}.")
    @click.argument("name")
    @_into
    def write(name: str, into: Path) -> None:
        """Write a package from the kind's templates."""
        _write(Package(kind, _check_name(name, offers)), (kind,), "", into)


for _kind in _KINDS:
    _add(_kind)


@dataclass(frozen=True)
class Package:
    """Names of a new package.

    Args:
        kind: "physics", "render", "loss", ...
        name: Name that the package registers.
    """

    kind: str
    name: str

    @property
    def distribution(self) -> str:
        """Name of the distribution for pip."""
        return f"diffloom-{self.kind}-{self.name.replace('_', '-')}"

    def fill(self, text: str, listing: str) -> str:
        """Return a template's text or path with the names filled in."""
        ending = _CLASSES.get(self.kind, self.kind.capitalize())
        words = {
            "__NAME__": self.name,
            "__PACKAGE__": self.distribution.replace("-", "_"),
            "__DISTRIBUTION__": self.distribution,
            "__CLASS__": "".join(part.capitalize() for part in self.name.split("_")) + ending,
            "__FILES__": listing,
            "__KERNELS__": ', "diffloom-kernels>=0.3,<0.4"' if "kernels.py" in listing else "",
            # A placeholder, because packing this distribution leaves out folders called "tests".
            "__TESTS__": "tests",
        }
        for word, value in words.items():
            text = text.replace(word, value)
        return text


def _check_name(name: str, word: str) -> str:
    """Return ``name`` as a Python identifier; refuse a name that is invalid or registered already."""
    found = name.replace("-", "_")
    if len(found) > LONGEST_NAME:
        raise click.ClickException(
            f"{name[:20]!r}... has {len(name)} letters; expected a name of at most {LONGEST_NAME}, because files and "
            "folders are called after it"
        )
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", found) or keyword.iskeyword(found):
        raise click.ClickException(
            f"{name!r} cannot be a name: use lower case letters and digits, joined by '_', starting with a letter"
        )
    registry = installed_registry()
    kind = registry.kind(word)
    if kind is not None and found in registry.names(kind):
        what = f"{'an' if kind.singular[0] in 'aeiou' else 'a'} {kind.singular}"
        owner = registry.entry(kind, found).origin
        raise click.ClickException(f"{what} {found!r} is registered already, by {owner}; choose another name")
    return found


def _write(package: Package, templates: tuple[str, ...], listing: str, into: Path) -> None:
    """Write all files of a package, and print the next steps."""
    folder = into / package.distribution
    try:
        if folder.exists():
            raise click.ClickException(f"the folder {folder} exists already; move it away or choose another name")
        root = files("diffloom_testing.cli") / "templates"
        for template in templates:
            for source, path in _files_of(root / template):
                target = folder / package.fill(path.removesuffix(SUFFIX), listing)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(package.fill(source.read_text(encoding="utf-8"), listing), encoding="utf-8")
                click.echo(f"wrote {target}")
    except OSError as error:
        raise click.ClickException(
            f"cannot write {str(folder)!r}: {error.strerror}; choose another folder with --into"
        ) from error
    click.echo(
        f"\nNext:\n  pip install -e '{folder}[test]'\n  diffloom plugins check {package.name}\n  pytest {folder}"
    )


def _files_of(folder: Traversable, prefix: str = "") -> list[tuple[Traversable, str]]:
    """Return all files below a folder with their paths relative to it."""
    found: list[tuple[Traversable, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _files_of(entry, f"{path}/")
        elif path.endswith(SUFFIX):
            found.append((entry, path))
    return found
