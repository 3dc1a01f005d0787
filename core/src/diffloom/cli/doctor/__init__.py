"""``diffloom doctor``: what runs here, what does not, and why.

Plugins register their own part of the examination: a function that returns a `Section` of `Finding`s.
"""

import click

from diffloom.cli.doctor.finding import Finding, Health, Section, cause, find_library, guarded

__all__ = ["Finding", "Health", "Section", "cause", "doctor", "find_library", "guarded"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Say what runs here, what does not, and why: Python, PyTorch, numba, threads, CUDA, other libraries, plugins."""
    from diffloom.cli.doctor.examine import examine
    from diffloom.cli.doctor.output import exit_code, print_json, print_text

    sections = examine()
    if as_json:
        print_json(sections)
    else:
        print_text(sections)
    ctx.exit(exit_code(sections))
