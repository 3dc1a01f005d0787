"""Errors that a user can put right are shown as one message; all others keep their traceback, for a bug report."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from diffloom.plugins import PluginError


@contextmanager
def told_in_words() -> Iterator[None]:
    """Turn an expected error into ``Error: <its message>`` on stderr and exit code 1."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, _expected()):
            raise
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from error


def _expected() -> tuple[type[Exception], ...]:
    # An error of the interfaces can only have been raised where they are imported already; importing them here would
    # bring in torch.
    interfaces = sys.modules.get("diffloom.validation")
    if interfaces is None:
        return (PluginError,)
    return PluginError, interfaces.InputError, interfaces.SimulationError
