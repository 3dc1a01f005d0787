"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from diffloom_fitting.files import Loaded

Command = TypeVar("Command", bound=Callable[..., Any])


def experiment_options(command: Command) -> Command:
    """FILE and the options that change what it says."""
    for option in (
        click.option("--seed", type=int, help="Seed of every draw, instead of the file's."),
        click.option("--target-renderer", metavar="NAME", help="Synthesise the target with this renderer."),
        click.option("--renderer", metavar="NAME", help="Draw with this renderer instead of the file's."),
        click.option("--quick", is_flag=True, help="The file's own reduced version, for a try."),
        click.option(
            "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a value, e.g. camera.size=[64,64]."
        ),
    ):
        command = option(command)
    return command


def load(
    file: str, settings: tuple[str, ...], quick: bool, renderer: str | None, target_renderer: str | None,
    seed: int | None,
) -> Loaded:  # fmt: skip
    """The checked file with the options put in."""
    from diffloom_fitting.files import load_file

    changes: dict[str, Any] = {}
    if renderer is not None:
        changes["renderer.name"] = renderer
    if target_renderer is not None:
        changes["target.renderer"] = target_renderer
    if seed is not None:
        changes["seed"] = seed
    return load_file(file, settings=settings, changes=changes, quick=quick)
