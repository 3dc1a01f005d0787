"""``diffloom explain NAME``: what a parameter, a setting, a registered thing or a key of an experiment file means."""

import click


@click.command()
@click.argument("name")
def explain(name: str) -> None:
    """Explain NAME: a parameter (fem.shear_modulus), a setting (softras.sigma), anything registered (gauss_newton), or
    a key of an experiment file (unknowns.start).

    A bare name, such as shear_modulus, is looked up in everything that is installed.
    """
    from diffloom_studio.explain.lookup import explanations, suggestion

    found = explanations(name)
    if not found:
        raise click.ClickException(f"nothing is called {name!r}{suggestion(name)}")
    click.echo("\n\n".join(str(each) for each in found))
