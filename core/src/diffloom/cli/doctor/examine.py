"""The whole examination. A part that fails is itself a finding: the doctor always answers."""

from collections.abc import Callable

from diffloom.cli.doctor.finding import Finding, Health, Section, cause
from diffloom.cli.doctor.plugins import plugins
from diffloom.plugins import DIAGNOSTICS, installed_registry

FIRST = ("runtime", "numba", "cuda")


def examine() -> list[Section]:
    """Return all sections: the runtime first, then what plugins diagnose, then the plugins themselves.

    Sections with the same title are joined.
    """
    entries = sorted(
        installed_registry().entries(DIAGNOSTICS),
        key=lambda entry: (FIRST.index(entry.name) if entry.name in FIRST else len(FIRST), entry.name),
    )
    parts: list[tuple[str, Callable[[], Section]]] = [
        (entry.name, lambda entry=entry: entry.load()())  # type: ignore[misc]
        for entry in entries
    ]
    found: dict[str, tuple[Finding, ...]] = {}
    for name, part in (*parts, ("plugins", plugins)):
        try:
            section = part()
        except (Exception, SystemExit) as error:
            section = Section(name, (Finding(name, Health.BROKEN, cause(error)),))
        found[section.title] = (*found.get(section.title, ()), *section.findings)
    return [Section(title, findings) for title, findings in found.items()]
