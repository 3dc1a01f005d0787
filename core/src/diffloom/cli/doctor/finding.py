"""What the doctor finds."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


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
