"""Findings of ``diffloom doctor`` on the library behind the back end "pytorch3d"."""

from diffloom.cli.doctor import Section, find_library


def libraries() -> Section:
    """Return the finding on PyTorch3D."""
    what = "the back end 'pytorch3d' of the renderer softras"
    return Section("Optional libraries", (find_library("PyTorch3D", "pytorch3d.renderer", "pytorch3d", what),))
