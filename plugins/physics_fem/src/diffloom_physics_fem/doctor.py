"""Check of ``diffloom doctor`` for the optional library PyTetWild."""

from diffloom.cli.doctor import Section, find_library


def check_libraries() -> Section:
    """Return the finding on PyTetWild."""
    finding = find_library(
        "PyTetWild", "pytetwild", "pytetwild", "tetrahedra that keep the sharp edges of a closed surface"
    )
    return Section("Optional libraries", (finding,))
