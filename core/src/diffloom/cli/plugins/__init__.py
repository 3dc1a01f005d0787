"""``diffloom plugins``: what is installed; and its subcommands, each in a module of its own."""

import click

from diffloom.cli.lazy_group import LazyGroup

SUBCOMMANDS = {
    "check": ("diffloom.cli.plugins.check:check", "Check that what a plugin offers loads and keeps its promises"),
    "new": ("diffloom.cli.plugins.new:new", "Write a new plugin: an installable package with tests that pass"),
}


@click.group(cls=LazyGroup, lazy=SUBCOMMANDS, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def plugins(ctx: click.Context, as_json: bool) -> None:
    """List the installed plugins and what they offer."""
    if ctx.invoked_subcommand is None:
        from diffloom.cli.plugins.listing import show

        ctx.exit(show(as_json))
    if as_json:
        raise click.UsageError("--json belongs to the list; a subcommand has options of its own", ctx)
