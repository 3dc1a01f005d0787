"""Findings of ``diffloom doctor`` on the optional library PyTetWild."""

from diffloom.cli.doctor import Section, find_library


def libraries() -> Section:
    """Return the finding on PyTetWild."""
    finding = find_library("PyTetWild", "pytetwild", "pytetwild", "tetrahedra from any closed surface")
    return Section("Optional libraries", (finding,))
