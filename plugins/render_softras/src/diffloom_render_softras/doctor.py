"""Findings of ``diffloom doctor`` on the optional library PyTorch3D."""

from diffloom.cli.doctor import Section, find_library


def libraries() -> Section:
    """Return the finding on PyTorch3D."""
    finding = find_library(
        "PyTorch3D", "pytorch3d.renderer", "pytorch3d", "the back end 'pytorch3d' of the renderer softras"
    )
    return Section("Optional libraries", (finding,))
