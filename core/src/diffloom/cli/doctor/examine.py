"""The whole examination. A part that fails is itself a finding: the doctor always answers."""

from diffloom.cli.doctor.cuda import cuda
from diffloom.cli.doctor.finding import Finding, Health, Section, cause
from diffloom.cli.doctor.libraries import libraries
from diffloom.cli.doctor.plugins import plugins
from diffloom.cli.doctor.runtime import runtime


def examine() -> list[Section]:
    """All sections, in the order in which a person would ask."""
    sections = []
    for part in (runtime, cuda, libraries, plugins):
        try:
            sections.append(part())
        except (Exception, SystemExit) as error:
            sections.append(Section(part.__name__, (Finding(part.__name__, Health.BROKEN, cause(error)),)))
    return sections
