"""Findings of ``diffloom doctor`` on the library that decodes video."""

from diffloom.cli.doctor import Section, find_library


def libraries() -> Section:
    """Return the finding on PyAV."""
    return Section("Optional libraries", (find_library("PyAV", "av", "av", "reading and writing video"),))
