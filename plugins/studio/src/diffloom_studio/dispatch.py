"""Commands on experiment files: the options they share, and dispatch by the kind of the file."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

__all__ = [
    "EngineOptions",
    "ExperimentOptions",
    "add_engine_options",
    "add_experiment_options",
    "dispatch_by_kind",
    "find_action",
]

if TYPE_CHECKING:
    from diffloom_scale.engines import Engine


def dispatch_by_kind(*places: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that lets the kind of an experiment file carry out a command, or refuse it or its options by
    name.

    It decorates the function of a click command, below ``click.command`` and above its options.

    Args:
        places: Parameters that name an experiment file or a run folder; the first that is given counts. The command's
            own function handles other paths, and files of the kind "video".

    Returns:
        The decorator.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run_dispatched(**given: Any) -> None:
            name = next((each for each in places if given[each] is not None), None)
            if name is None or not _is_file_or_run(Path(given[name])) or (action := find_action(given[name])) is None:
                command(**given)
            else:
                taken = list(inspect.signature(action).parameters)[1:]
                action(given[name], **{option: given[option] for option in taken})

        return run_dispatched

    return decorate


def _is_file_or_run(place: Path) -> bool:
    """Return True if a path is a file, or a folder that holds a run."""
    return place.is_file() or (place / "config.json").exists()


def find_action(place: str | Path) -> Callable[..., Any] | None:
    """Return the function by which the kind of a file carries out the running command; None for the command's own
    function.

    Args:
        place: Experiment file or run folder.

    Returns:
        The function, or None.

    Raises:
        InputError: The command, or one of the given options, does not apply to files of this kind; the message names
            it.
    """
    from diffloom_experiments.kinds import recognise_place

    context = click.get_current_context()
    command, kind = context.command.name or "", recognise_place(place)
    action = kind.action(command)
    kind.check_options(command, _read_given_options(context))
    return action


def _read_given_options(context: click.Context) -> dict[str, str]:
    """Return the options on the command line by parameter name, spelled as on the command line."""
    found = {}
    for option in context.command.params:
        name = option.name or ""
        if isinstance(option, click.Option) and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            off = option.secondary_opts and context.params[name] is False
            found[name] = (option.secondary_opts if off else option.opts)[0]
    return found


@dataclass(frozen=True)
class ExperimentOptions:
    """Options of the command line that change an experiment file.

    Args:
        settings: Changes "KEY=VALUE".
        quick: Use the file's reduced version.
        variants: Names of the file's variants to apply.
        renderer: Name of the renderer, instead of the file's.
        target_renderer: Name of the renderer that draws the target.
        seed: Seed, instead of the file's.
        iterations: Iterations of the last stage, instead of the file's.
    """

    settings: tuple[str, ...] = ()
    quick: bool = False
    variants: tuple[str, ...] = ()
    renderer: str | None = None
    target_renderer: str | None = None
    seed: int | None = None
    iterations: int | None = None

    def load(self, file: str) -> Any:
        """Load an experiment file with these changes.

        Args:
            file: Path of the file.

        Returns:
            A ``diffloom_experiments.Loaded``, or the checked file of another kind.
        """
        from diffloom_experiments.kinds import load_any

        changes = {"renderer.name": self.renderer, "target.renderer": self.target_renderer, "seed": self.seed}
        given: dict[str, Any] = {place: value for place, value in changes.items() if value is not None}
        load = functools.partial(load_any, file, settings=self.settings, quick=self.quick, variants=self.variants)
        loaded = load(changes=given)
        if self.iterations is None:
            return loaded
        last = len(loaded.content.stages) - 1
        if loaded.raw.get("stages"):
            return load(changes={**given, f"stages.{last}.iterations": self.iterations})
        if "iterations" in type(loaded.content).model_fields:
            return load(changes={**given, "iterations": self.iterations})
        optimiser = loaded.content.stages[last].optimiser.name
        return load(changes={**given, "stages": [{"optimiser": optimiser, "iterations": self.iterations}]})


@dataclass(frozen=True)
class EngineOptions:
    """Options of the command line that choose where tasks run.

    Args:
        engine: Name of the engine, "local" or "ray".
        jobs: Number of processes at once.
        address: Address of a Ray cluster.
    """

    engine: str = "local"
    jobs: int = 1
    address: str | None = None

    @property
    def alone(self) -> bool:
        """True if this process does the work, without an engine."""
        return self.engine == "local" and self.jobs <= 1 and self.address is None

    def start(self) -> Engine:
        """Start the engine.

        Returns:
            The engine.
        """
        from diffloom_scale.engines import make_engine

        return make_engine(self.engine, self.jobs, self.address)


def _collect_options(
    command: Callable[..., None], record: type[Any], name: str, options: Sequence[Callable[..., Any]]
) -> Callable[..., None]:
    """Add options to a command, which gets their values as the fields of one record."""

    @functools.wraps(command)
    def run_collected(**given: Any) -> None:
        found = record(**{part.name: given.pop(part.name) for part in fields(record)})
        command(**{name: found}, **given)

    for option in options:
        option(run_collected)
    return run_collected


def add_engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose where tasks run.

    Args:
        command: Function of a click command. It gets the options as ``workers``.

    Returns:
        The decorated function.
    """

    options = (
        click.option("--address", metavar="HOST:PORT", help="Head of a Ray cluster; auto for the one here."),
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Number of processes at once of the engine local.",
        ),
        click.option("--engine", default="local", show_default=True, help="Engine that runs the tasks: local or ray."),
    )
    return _collect_options(command, EngineOptions, "workers", options)


def add_experiment_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that change an experiment file.

    Args:
        command: Function of a click command. It gets the options as ``options``.

    Returns:
        The decorated function.
    """

    options = (
        click.option(
            "--iterations",
            type=click.IntRange(min=1),
            help="Iterations of the last stage, instead of the file's.",
        ),
        click.option("--seed", type=int, help="Seed of all random numbers, instead of the file's."),
        click.option("--target-renderer", metavar="NAME", help="Synthesise the target with this renderer."),
        click.option("--renderer", metavar="NAME", help="Draw with this renderer instead of the file's."),
        click.option(
            "--variant",
            "variants",
            multiple=True,
            metavar="NAME",
            help="Apply the file's [variants.NAME]; may be repeated.",
        ),
        click.option("--quick", is_flag=True, help="Use the file's reduced version, [variants.quick]."),
        click.option(
            "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a value, such as camera.size=[64,64]."
        ),
    )
    return _collect_options(command, ExperimentOptions, "options", options)
