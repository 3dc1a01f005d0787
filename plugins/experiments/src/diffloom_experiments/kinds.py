"""Kinds of experiment file: how a file is recognised, which keys it has, and what commands do with it. No torch."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from diffloom.errors import InputError
from diffloom.plugins import Kind, PluginError, import_object

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = [
    "EXPERIMENT_KINDS",
    "ExperimentKind",
    "LoadedFile",
    "VideoKind",
    "build_any",
    "experiment_kinds",
    "load_any",
    "recognise",
    "recognise_place",
]

EXPERIMENT_KINDS = Kind(
    "experiment_kinds",
    "kind of experiment file",
    "diffloom_experiments.kinds:ExperimentKind",
    "Kinds of experiment file: classes that implement ``diffloom_experiments.ExperimentKind``.",
)


class LoadedFile(Protocol):
    """A checked file of any kind: its data with all changes put in, the folder of its relative paths, and its name."""

    @property
    def raw(self) -> dict[str, Any]: ...
    @property
    def folder(self) -> Path: ...
    @property
    def name(self) -> str: ...


class ExperimentKind(ABC):
    """A kind of experiment file. Registered as a class, by the hook ``diffloom_register_experiment_kinds``.

    A file is of the kind whose ``tables`` it has; one that has none of any kind's is of the kind "video". Two kinds
    that claim the same file are an error. A command is carried out by the function that ``actions`` names for it, which
    is called with the path, then with the command's options by name; an option that it has no parameter for is refused.
    Example::

        class FlowKind(ExperimentKind):
            noun = "a file about optical flow"
            tables = ("flow",)
            actions = {"run": "my_plugin.flow:run_flow"}

            def schema(self):
                return FlowFile  # a pydantic model

            def load(self, raw, folder, name, **changes): ...


        def run_flow(file, *, seed, out): ...  # `diffloom run --renderer softras flow.toml` is refused

    Attributes:
        noun: What a file of this kind is, with its article, as messages say it.
        tables: Top-level tables of which any one makes a file one of this kind.
        actions: Function that carries out a command, or its import path, by the command's name; None for the command's
            own implementation, which works on what ``load`` and ``build`` return. A command that is not named is
            refused.
        refused: Options that do not apply where a command's own implementation carries it out, by the command's name.
    """

    noun: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()
    actions: ClassVar[Mapping[str, str | Callable[..., Any] | None]] = {}
    refused: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @abstractmethod
    def schema(self) -> type[BaseModel]:
        """Return the pydantic model of a whole file, which `diffloom schema` and `diffloom explain` read."""

    @abstractmethod
    def load(
        self, raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
        changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
    ) -> LoadedFile:  # fmt: skip
        """Check the data of a file; InputError says what is wrong with it.

        Args:
            raw: Tables of the file.
            folder: Folder that relative paths start from.
            name: Name of the file, for messages.
            settings: Changes as texts, such as "camera.size=[64,64]".
            changes: Changes as values, by dotted place; they win over ``settings``.
            quick: True to put in the file's [variants.quick].
            variants: Names of further [variants.*] tables to put in, in this order.
        """

    def build(self, loaded: Any) -> Any:
        """Build the experiment of a loaded file, a ``diffloom_fitting.AbstractExperiment``.

        Commands that carry out their work themselves (see ``action``) call this; other kinds need not define it.
        """
        raise InputError(f"{loaded.name}: {self.description} cannot be built into an experiment")

    def action(self, command: str) -> Callable[..., Any] | None:
        """Return the function that carries out a command on a file of this kind; InputError where it does not apply.

        None stands for the command's own implementation, which works on what ``load`` and ``build`` return.
        """
        if command not in self.actions:
            known = ", ".join(f"`diffloom {name}`" for name in self.actions) or "none"
            raise InputError(f"`diffloom {command}` does not apply to {self.description}; commands that do: {known}")
        action = self.actions[command]
        return import_object(action) if isinstance(action, str) else action

    def options(self, command: str) -> frozenset[str] | None:
        """Return the options of a command that this kind takes, by parameter name; None for all of them."""
        action = self.action(command)
        return None if action is None else frozenset(list(inspect.signature(action).parameters)[1:])

    def check_options(self, command: str, given: Mapping[str, str]) -> None:
        """Raise InputError for the first option that this kind does not take.

        Args:
            command: Name of the command, such as "run".
            given: Options on the command line: parameter name to spelling, such as ``{"report": "--no-report"}``.
        """
        taken = self.options(command)
        for parameter, spelling in given.items():
            if parameter in self.refused.get(command, ()) or (taken is not None and parameter not in taken):
                raise InputError(f"{spelling} does not apply to {self.description}; leave it out")

    @property
    def description(self) -> str:
        """Noun with the tables that a file of this kind is recognised by."""
        return f"{self.noun} ({_bracketed(self.tables)})" if self.tables else self.noun


class VideoKind(ExperimentKind):
    """The ordinary kind: a scene that is fitted to videos, images or goals. Every command applies to it."""

    noun = "an experiment file"

    def schema(self) -> type[BaseModel]:
        """Return the model of the file."""
        from diffloom_experiments.schema import ExperimentFile

        return ExperimentFile

    def load(
        self, raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
        changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
    ) -> LoadedFile:  # fmt: skip
        """Check the data of a file."""
        from diffloom_experiments.load import load_data

        return load_data(raw, folder, name, settings=settings, changes=changes, quick=quick, variants=variants)

    def build(self, loaded: Any) -> Any:
        """Build the ``diffloom_fitting.Experiment`` of a file."""
        from diffloom_experiments.experiments import build_experiment

        return build_experiment(loaded)

    def action(self, command: str) -> None:
        """Return None: commands carry out their work on files of this kind themselves."""


def experiment_kinds() -> dict[str, ExperimentKind]:
    """Return the kinds by name, "video" first; a registered kind that cannot be imported is left out with a warning."""
    found: dict[str, ExperimentKind] = {"video": VideoKind()}
    for name in EXPERIMENT_KINDS.names():
        if name not in found:
            try:
                found[name] = EXPERIMENT_KINDS.get(name)()
            except PluginError as error:
                warnings.warn(f"the kind of experiment file {name!r} cannot be used: {error}", stacklevel=2)
    return found


def recognise(raw: Mapping[str, Any], name: str) -> ExperimentKind:
    """Return the kind of a file by its tables; InputError names the kinds where more than one claims it.

    Args:
        raw: Tables of the file.
        name: Name of the file, for the message.
    """
    kinds = experiment_kinds()
    claimed = {each: [table for table in kind.tables if table in raw] for each, kind in kinds.items()}
    claimed = {each: tables for each, tables in claimed.items() if tables}
    if len(claimed) > 1:
        told = " and ".join(f"{each!r} by {_bracketed(tables)}" for each, tables in claimed.items())
        raise InputError(f"{name}: it is claimed by more than one kind of experiment file: {told}; keep one of them")
    return kinds[next(iter(claimed), "video")]


def recognise_place(place: str | Path) -> ExperimentKind:
    """Return the kind of an experiment file, or of the file that a run folder was made for."""
    path = Path(place)
    if path.is_dir():
        from diffloom_experiments.run_folder import read_config

        raw, _, name = read_config(path)
        return recognise(raw, name)
    from diffloom_experiments.changes import read_toml

    return recognise(read_toml(path), path.name)


def load_any(
    place: str | Path, *, settings: Sequence[str] = (), changes: Mapping[str, Any] | None = None, quick: bool = False,
    variants: Sequence[str] = (),
) -> Any:  # fmt: skip
    """Read and check an experiment file of any kind; the arguments are those of ``ExperimentKind.load``."""
    from diffloom_experiments.changes import read_toml

    path = Path(place)
    raw = read_toml(path)
    kind = recognise(raw, path.name)
    return kind.load(raw, path.parent, path.name, settings=settings, changes=changes, quick=quick, variants=variants)


def build_any(loaded: LoadedFile) -> Any:
    """Build the experiment of a loaded file of any kind."""
    return recognise(loaded.raw, loaded.name).build(loaded)


def _bracketed(tables: Sequence[str]) -> str:
    return ", ".join(f"[{table}]" for table in tables)
