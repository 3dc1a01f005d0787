"""`diffloom schema`: the JSON schema of experiment files, for editors."""

from __future__ import annotations

import click


@click.command()
def schema() -> None:
    """Print the JSON schema of experiment files (editors use it to complete and check them)."""
    import json

    from diffloom_experiments.json_schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
