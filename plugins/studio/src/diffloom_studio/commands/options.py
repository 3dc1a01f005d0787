"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from diffloom_experiments import Loaded
    from diffloom_scale.engines import Engine


@dataclass(frozen=True)
class Options:
    """What the command line changes in an experiment file."""

    settings: tuple[str, ...] = ()
    quick: bool = False
    variants: tuple[str, ...] = ()
    renderer: str | None = None
    target_renderer: str | None = None
    seed: int | None = None

    def load(self, file: str) -> Loaded:
        """The checked file with these put in."""
        from diffloom_experiments import load_file

        changes = {"renderer.name": self.renderer, "target.renderer": self.target_renderer, "seed": self.seed}
        given = {place: value for place, value in changes.items() if value is not None}
        return load_file(file, settings=self.settings, changes=given, quick=self.quick, variants=self.variants)


@dataclass(frozen=True)
class Workers:
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
        from diffloom_scale.engines import engine_of

        return engine_of(self.engine, self.jobs, self.address)


def engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say where tasks run; the command gets them as ``workers``."""

    @functools.wraps(command)
    def collected(**given: Any) -> None:
        found = Workers(**{part.name: given.pop(part.name) for part in fields(Workers)})
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


def experiment_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that change what an experiment file says; the command gets them as ``options``."""

    @functools.wraps(command)
    def collected(**given: Any) -> None:
        found = Options(**{part.name: given.pop(part.name) for part in fields(Options)})
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
