"""Commands on experiment files: the options they share, and dispatch by the kind of the file."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
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
    """Let the kind of an experiment file carry out a command, or refuse it or one of its options by name.

    Decorates the function of a click command, below ``click.command`` and above its options.

    Args:
        places: Parameters that name an experiment file or a run folder; the first that is given counts. What is
            neither is left to the command's own function, and so are files of the kind "video".
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def dispatched(**given: Any) -> None:
            name = next((each for each in places if given[each] is not None), None)
            if name is None or not _is_there(Path(given[name])) or (action := find_action(given[name])) is None:
                command(**given)
            else:
                taken = list(inspect.signature(action).parameters)[1:]
                action(given[name], **{option: given[option] for option in taken})

        return dispatched

    return decorate


def _is_there(place: Path) -> bool:
    """Return whether a place is a file, or a folder that holds a run."""
    return place.is_file() or (place / "config.json").exists()


def find_action(place: str | Path) -> Callable[..., Any] | None:
    """Return the function by which the kind of a file carries out the command that runs; None for the command's own.

    InputError names the command, or the first of its options, that does not apply to files of this kind.
    """
    from diffloom_experiments.kinds import recognise_place

    context = click.get_current_context()
    command, kind = context.command.name or "", recognise_place(place)
    action = kind.action(command)
    kind.check_options(command, _given_options(context))
    return action


def _given_options(context: click.Context) -> dict[str, str]:
    """Return the options on the command line by parameter name, as they are spelled there."""
    found = {}
    for option in context.command.params:
        name = option.name or ""
        if isinstance(option, click.Option) and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            off = option.secondary_opts and context.params[name] is False
            found[name] = (option.secondary_opts if off else option.opts)[0]
    return found


@dataclass(frozen=True)
class ExperimentOptions:
    """What the command line changes in an experiment file."""

    settings: tuple[str, ...] = ()
    quick: bool = False
    variants: tuple[str, ...] = ()
    renderer: str | None = None
    target_renderer: str | None = None
    seed: int | None = None

    def load(self, file: str) -> Any:
        """Load the file with these put in: a ``diffloom_experiments.Loaded``, or the checked file of another kind."""
        from diffloom_experiments.kinds import load_any

        changes = {"renderer.name": self.renderer, "target.renderer": self.target_renderer, "seed": self.seed}
        given = {place: value for place, value in changes.items() if value is not None}
        return load_any(file, settings=self.settings, changes=given, quick=self.quick, variants=self.variants)


@dataclass(frozen=True)
class EngineOptions:
    """Where the command line lets tasks run."""

    engine: str = "local"
    jobs: int = 1
    address: str | None = None

    @property
    def alone(self) -> bool:
        """Whether this process does the work itself."""
        return self.engine == "local" and self.jobs <= 1 and self.address is None

    def start(self) -> Engine:
        """The engine."""
        from diffloom_scale.engines import make_engine

        return make_engine(self.engine, self.jobs, self.address)


def add_engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say where tasks run; the command gets them as ``workers``."""

    @functools.wraps(command)
    def collected(**given: Any) -> None:
        found = EngineOptions(**{part.name: given.pop(part.name) for part in fields(EngineOptions)})
        command(workers=found, **given)

    for option in (
        click.option("--address", metavar="HOST:PORT", help="The head of a Ray cluster; auto for this machine's."),
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Processes at once, of the engine local.",
        ),
        click.option("--engine", default="local", show_default=True, help="Where tasks run: local, or ray."),
    ):
        option(collected)
    return collected


def add_experiment_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that change what an experiment file says; the command gets them as ``options``."""

    @functools.wraps(command)
    def collected(**given: Any) -> None:
        found = ExperimentOptions(**{part.name: given.pop(part.name) for part in fields(ExperimentOptions)})
        command(options=found, **given)

    for option in (
        click.option("--seed", type=int, help="Seed of every draw, instead of the file's."),
        click.option("--target-renderer", metavar="NAME", help="Synthesise the target with this renderer."),
        click.option("--renderer", metavar="NAME", help="Draw with this renderer instead of the file's."),
        click.option("--variant", "variants", multiple=True, metavar="NAME", help="Put in the file's [variants.NAME]."),
        click.option("--quick", is_flag=True, help="The file's own reduced version, for a try: [variants.quick]."),
        click.option(
            "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a value, e.g. camera.size=[64,64]."
        ),
    ):
        option(collected)
    return collected
