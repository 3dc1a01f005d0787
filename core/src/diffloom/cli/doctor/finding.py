"""What the doctor finds."""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version


class Health(StrEnum):
    """How a thing is.

    OK: it works. ABSENT: it is optional and not there, or cannot run on this machine. BROKEN: it is there and does
    not work. FATAL: diffloom cannot work without it.
    """

    OK = "ok"
    ABSENT = "absent"
    BROKEN = "broken"
    FATAL = "fatal"


@dataclass(frozen=True)
class Finding:
    """One thing the doctor looked at: what it is, how it is, and, unless it is well, what to do."""

    subject: str
    health: Health
    detail: str
    advice: str = ""


@dataclass(frozen=True)
class Section:
    """Findings that belong together."""

    title: str
    findings: tuple[Finding, ...]


def cause(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def guarded(subject: str, probe: Callable[[], Finding]) -> Finding:
    """The finding of ``look``; when looking itself fails, that is the finding."""
    try:
        return probe()
    except (Exception, SystemExit) as error:
        return Finding(subject, Health.BROKEN, cause(error))


def find_library(subject: str, module: str, distribution: str, purpose: str) -> Finding:
    """Return whether an optional library is installed and can be imported.

    Args:
        subject: Its name, for people.
        module: Module to import for a try.
        distribution: Name for pip.
        purpose: What it would bring.
    """
    try:
        # The package first: looking for a module inside one that is absent is an error of its own.
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            return Finding(subject, Health.ABSENT, f"not installed; it would bring {purpose}")
        importlib.import_module(module)
    except (Exception, SystemExit) as error:
        advice = "reinstall it for this Python and this PyTorch"
        return Finding(subject, Health.BROKEN, f"installed, but cannot be imported: {cause(error)}", advice)
    try:
        release = version(distribution)
    except PackageNotFoundError:
        release = "of unknown version"
    return Finding(subject, Health.OK, f"{release}: {purpose}")
