"""Findings of ``diffloom doctor`` on the library behind the back end "kaolin"."""

from diffloom.cli.doctor import Section, find_library


def libraries() -> Section:
    """Return the finding on Kaolin."""
    what = "the back end 'kaolin' of the renderer dibr (needs CUDA)"
    return Section("Optional libraries", (find_library("Kaolin", "kaolin.render.mesh", "kaolin", what),))
