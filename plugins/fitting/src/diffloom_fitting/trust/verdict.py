"""The verdict: whether a fit converged, saw something, determined what it sought and explains the video."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["green", "amber", "red"]
LEVELS: tuple[Level, ...] = ("green", "amber", "red")
PARTS = ("converged", "visible", "identifiable", "explained")


@dataclass(frozen=True)
class Finding:
    """One part of a verdict: its level, and why, in a sentence."""

    level: Level
    text: str


@dataclass(frozen=True)
class Verdict:
    """How far a fit's numbers can be trusted, in four sentences.

    converged: whether a further step would move the unknowns by less than their uncertainty. visible: whether the
    video shows the object. identifiable: whether its pixels determine every unknown. explained: whether what is left
    over looks like noise. undetermined: labels of unknowns, such as "mass" or "velocity[2]", that the pixels leave
    open.
    """

    converged: Finding
    visible: Finding
    identifiable: Finding
    explained: Finding
    undetermined: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """The worst of the four."""
        return max((getattr(self, part).level for part in PARTS), key=LEVELS.index)

    def findings(self) -> list[tuple[str, Finding]]:
        """The four by name."""
        return [(part, getattr(self, part)) for part in PARTS]

    @property
    def reasons(self) -> str:
        """What stands in the way of green, in one line; empty when nothing does."""
        return "; ".join(finding.text for _, finding in self.findings() if finding.level != "green")

    def data(self) -> dict[str, Any]:
        """Plain data: level and the sentence of each part, and each part's own level."""
        told: dict[str, Any] = {"level": self.level}
        told |= {part: finding.text for part, finding in self.findings()}
        told["levels"] = {part: finding.level for part, finding in self.findings()}
        return told | {"undetermined": list(self.undetermined)}

    def __str__(self) -> str:
        lines = [f"verdict: {self.level}"]
        return "\n".join(lines + [f"  {part}: {finding.text}" for part, finding in self.findings()])


def not_judged(why: str, level: Level = "amber") -> Verdict:
    """The verdict on a fit that nobody looked at."""
    one = Finding(level, f"not judged: {why}")
    return Verdict(one, one, one, one)
