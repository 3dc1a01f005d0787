"""``diffloom plugins``: lists what is installed; its subcommands come from plugins, such as diffloom-testing."""

import click

from diffloom.cli.group import RegistryGroup


@click.group(cls=RegistryGroup, within="plugins", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def plugins(ctx: click.Context, as_json: bool) -> None:
    """List the installed plugins, what they offer and who defined each hook."""
    if ctx.invoked_subcommand is None:
        from diffloom.cli.plugins.listing import show

        ctx.exit(show(as_json))
    if as_json:
        raise click.UsageError("--json belongs to the list; a subcommand has options of its own", ctx)
