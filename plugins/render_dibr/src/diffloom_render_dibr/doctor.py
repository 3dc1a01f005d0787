"""Findings of ``diffloom doctor`` on the optional library Kaolin."""

from diffloom.cli.doctor import Section, find_library


def libraries() -> Section:
    """Return the finding on Kaolin."""
    finding = find_library(
        "Kaolin", "kaolin.render.mesh", "kaolin", "the back end 'kaolin' of the renderer dibr (needs CUDA)"
    )
    return Section("Optional libraries", (finding,))
