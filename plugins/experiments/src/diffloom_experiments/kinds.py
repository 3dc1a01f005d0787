"""Kinds of experiment file: recognition by tables, keys, and the commands that apply.

The module does not import torch.
"""

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
    """Checked file of any kind.

    Attributes:
        raw: Data with all changes applied.
        folder: Folder of relative paths.
        name: Name of the file, for messages.
    """

    @property
    def raw(self) -> dict[str, Any]: ...
    @property
    def folder(self) -> Path: ...
    @property
    def name(self) -> str: ...


class ExperimentKind(ABC):
    """Kind of experiment file, registered as a class by the hook ``diffloom_register_experiment_kinds``.

    A file is of the kind whose ``tables`` it has, and of the kind "video" if it has none of them. A file that two kinds
    claim is an error. ``actions`` names the function that carries out a command; it is called with the path and the
    command's options by name, and an option without a parameter is refused.

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
        noun: Name of a file of this kind in messages, with its article.
        tables: Top-level tables, each of which marks a file of this kind.
        actions: Function that carries out a command, or its import path, by the command's name; None for the command's
            own implementation, which uses ``load`` and ``build``. Other commands are refused.
        refused: Options by command that do not apply when the command's own implementation carries it out.
    """

    noun: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()
    actions: ClassVar[Mapping[str, str | Callable[..., Any] | None]] = {}
    refused: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @abstractmethod
    def schema(self) -> type[BaseModel]:
        """Return the pydantic model of a whole file, which `diffloom schema` and `diffloom explain` read.

        Returns:
            Model class.
        """

    @abstractmethod
    def load(
        self, raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
        changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
    ) -> LoadedFile:  # fmt: skip
        """Check the data of a file.

        Args:
            raw: Tables of the file.
            folder: Folder of relative paths.
            name: Name of the file, for messages.
            settings: Changes as texts, such as "camera.size=[64,64]".
            changes: Changes as values by dotted key; they win over ``settings``.
            quick: True to apply the file's [variants.quick].
            variants: Names of further [variants.*] tables to apply, in this order.

        Returns:
            Checked file.

        Raises:
            InputError: A value is wrong.
        """

    def build(self, loaded: Any) -> Any:
        """Build the experiment of a loaded file; kinds need it for commands whose own implementation applies (see
        ``action``).

        Args:
            loaded: Result of ``load``.

        Returns:
            ``diffloom_fitting.AbstractExperiment``.
        """
        raise InputError(f"{loaded.name}: {self.description} cannot be built into an experiment")

    def action(self, command: str) -> Callable[..., Any] | None:
        """Return the function that carries out a command on a file of this kind.

        Args:
            command: Name of the command, such as "run".

        Returns:
            Function of the path and the command's options; None for the command's own implementation, which uses
                ``load`` and
                ``build``.

        Raises:
            InputError: The command does not apply to this kind.
        """
        if command not in self.actions:
            known = ", ".join(f"`diffloom {name}`" for name in self.actions) or "none"
            raise InputError(f"`diffloom {command}` does not apply to {self.description}; commands that do: {known}")
        action = self.actions[command]
        return import_object(action) if isinstance(action, str) else action

    def options(self, command: str) -> frozenset[str] | None:
        """Return the options of a command that this kind takes.

        Args:
            command: Name of the command.

        Returns:
            Parameter names; None for all options.
        """
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
        """Noun with the tables that mark a file of this kind."""
        return f"{self.noun} ({_bracketed(self.tables)})" if self.tables else self.noun


class VideoKind(ExperimentKind):
    """Ordinary kind of experiment file: a scene that is fitted to videos, images or goals. Every command applies
    to it.
    """

    noun = "an experiment file"

    def schema(self) -> type[BaseModel]:
        """Return the model of the file.

        Returns:
            ``ExperimentFile``.
        """
        from diffloom_experiments.schema import ExperimentFile

        return ExperimentFile

    def load(
        self, raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
        changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
    ) -> LoadedFile:  # fmt: skip
        """Check the data of a file.

        Args:
            raw: Tables of the file.
            folder: Folder of relative paths.
            name: Name of the file, for messages.
            settings: Changes as texts, such as "camera.size=[64,64]".
            changes: Changes as values by dotted key; they win over ``settings``.
            quick: True to apply the file's [variants.quick].
            variants: Names of further [variants.*] tables to apply, in this order.

        Returns:
            ``Loaded``.
        """
        from diffloom_experiments.load import load_data

        return load_data(raw, folder, name, settings=settings, changes=changes, quick=quick, variants=variants)

    def build(self, loaded: Any) -> Any:
        """Build the experiment of a file.

        Args:
            loaded: Checked file.

        Returns:
            ``diffloom_fitting.Experiment``.
        """
        from diffloom_experiments.experiments import build_experiment

        return build_experiment(loaded)

    def action(self, command: str) -> None:
        """Return None, because all commands have implementations for files of this kind.

        Args:
            command: Name of the command.
        """


def experiment_kinds() -> dict[str, ExperimentKind]:
    """Return the registered kinds, "video" first; a kind that cannot be imported is left out with a warning.

    Returns:
        Kinds by name.
    """
    found: dict[str, ExperimentKind] = {"video": VideoKind()}
    for name in EXPERIMENT_KINDS.names():
        if name not in found:
            try:
                found[name] = EXPERIMENT_KINDS.get(name)()
            except PluginError as error:
                warnings.warn(f"the kind of experiment file {name!r} cannot be used: {error}", stacklevel=2)
    return found


def recognise(raw: Mapping[str, Any], name: str) -> ExperimentKind:
    """Return the kind of a file by its tables.

    Args:
        raw: Tables of the file.
        name: Name of the file, for the message.

    Returns:
        Kind of the file.

    Raises:
        InputError: More than one kind claims the file.
    """
    kinds = experiment_kinds()
    claimed = {each: [table for table in kind.tables if table in raw] for each, kind in kinds.items()}
    claimed = {each: tables for each, tables in claimed.items() if tables}
    if len(claimed) > 1:
        listed = " and ".join(f"{each!r} by {_bracketed(tables)}" for each, tables in claimed.items())
        raise InputError(f"{name}: it is claimed by more than one kind of experiment file: {listed}; keep one of them")
    return kinds[next(iter(claimed), "video")]


def recognise_place(place: str | Path) -> ExperimentKind:
    """Return the kind of an experiment file or of a run folder.

    Args:
        place: Path of the file or folder.

    Returns:
        Kind of the file, or of the file that the run folder was made for.
    """
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
    """Read and check an experiment file of any kind.

    Args:
        place: Path of the file.
        settings: Changes as texts, such as "camera.size=[64,64]".
        changes: Changes as values by dotted key; they win over ``settings``.
        quick: True to apply the file's [variants.quick].
        variants: Names of further [variants.*] tables to apply, in this order.

    Returns:
        Checked file of its kind.
    """
    from diffloom_experiments.changes import read_toml

    path = Path(place)
    raw = read_toml(path)
    kind = recognise(raw, path.name)
    return kind.load(raw, path.parent, path.name, settings=settings, changes=changes, quick=quick, variants=variants)


def build_any(loaded: LoadedFile) -> Any:
    """Build the experiment of a loaded file of any kind.

    Args:
        loaded: Result of ``load_any``.

    Returns:
        ``diffloom_fitting.AbstractExperiment``.
    """
    return recognise(loaded.raw, loaded.name).build(loaded)


def _bracketed(tables: Sequence[str]) -> str:
    """Return table names in brackets."""
    return ", ".join(f"[{table}]" for table in tables)
