"""Facts that a person knows of a clip: the kind of motion, lengths, the camera's field of view and true rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from diffloom.interfaces import InputError
from diffloom.validation import check_choice, suggest_name
from diffloom_fitting import quantity

__all__ = ["FACTS", "KINDS", "WHAT", "KnownFacts", "parse_facts"]

KINDS = ("pendulum", "throw", "bounces", "slide")
#: Numbers of a known size: a ball's diameter, a box's width, height and depth.
SIZES = {"throw": 1, "bounces": 1, "slide": 3}
#: Names of things, with the kinds of motion that they may show.
WHAT = {"ball": ("throw", "bounces"), "box": ("slide",), **{kind: (kind,) for kind in KINDS}}
#: Facts by name, with their unit and an example.
FACTS = {
    "diameter": ("m", "diameter = 68.7 mm"),
    "sides": ("m", "sides = 100 50 80 mm"),
    "length": ("m", "length = 0.5 m"),
    "fov": ("", "fov = 38"),
    "rate": ("", "rate = 240"),
}


@dataclass(frozen=True)
class KnownFacts:
    """Facts that a person knows of a clip.

    Args:
        kind: One of `KINDS`; None lets `inspect_clip` choose.
        size: Diameter of the ball, or width, height and depth of the box [m]. It then is the ruler; gravity otherwise.
        fov: Vertical field of view [degrees]; None takes 40 and says so in ±.
        length: Length of the pendulum [m], from the pivot to the bob's centre. Gravity is then sought.
        rate: True frames per second, where a clip is played slower than it was recorded; None believes the file.
        kinds: Kinds that are considered; all if empty.
    """

    kind: str | None = None
    size: tuple[float, ...] = ()
    fov: float | None = None
    length: float | None = None
    rate: float | None = None
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind is not None:
            check_choice("--kind", self.kind, KINDS)
        if any(not length > 0.0 for length in self.size):
            raise InputError(f"--size: got {' '.join(map(str, self.size))}; expected lengths above 0 [m]")
        if self.fov is not None and not 1.0 < self.fov < 170.0:
            raise InputError(f"--fov: got {self.fov:g}; expected degrees between 1 and 170")
        for name in ("length", "rate"):
            value = getattr(self, name)
            if value is not None and not value > 0.0:
                raise InputError(f"--known {name}: got {value:g}; expected a number above 0")

    def check(self, kind: str) -> None:
        """Raise unless the size has as many numbers as a kind of clip needs.

        Args:
            kind: One of `KINDS`.
        """
        count = SIZES.get(kind, 0)
        needed = kind in ("bounces", "slide")
        if len(self.size) != count and (self.size or needed):
            wanted, known = {
                0: ("no size", ""),
                1: ("the ball's diameter [m]", FACTS["diameter"][1]),
                3: ("the box's width, height and depth [m]", FACTS["sides"][1]),
            }[count]
            told = f', such as --size 0.0687 (diffloom new) or --known "{known}" (diffloom measure)' if known else ""
            raise InputError(f"--size: got {len(self.size)} lengths for kind {kind!r}; expected {wanted}{told}")
        if self.length is not None and kind != "pendulum":
            raise InputError(f"--known length: it is a pendulum's, and the kind is {kind!r}; a ball has a diameter")


def parse_facts(what: str | None, known: Sequence[str]) -> KnownFacts:
    """Read facts from texts.

    Args:
        what: One of `WHAT`, such as "ball"; None for anything.
        known: Texts such as "diameter = 68.7 mm"; names are those of `FACTS`.

    Returns:
        The facts.

    Raises:
        InputError: A text names no fact, or its value has another unit.
    """
    facts = KnownFacts()
    if what is not None:
        kinds = WHAT[check_choice("--what", what, WHAT)]
        facts = replace(facts, kind=kinds[0] if len(kinds) == 1 else None, kinds=kinds)
    for text in known:
        name, sign, value = (part.strip() for part in text.partition("="))
        if name not in FACTS or not sign:
            examples = ", ".join(f'"{example}"' for _, example in FACTS.values())
            raise InputError(f"--known: got {text!r}{suggest_name(name, FACTS)}; expected one of {examples}")
        unit, example = FACTS[name]
        if name == "sides":
            *numbers, last = value.replace(",", " ").split()
            sides = [f"{number} {last}" for number in numbers] if last.isalpha() else [*numbers, last]
            found = tuple(_read_fact(each, unit, name, example) for each in sides)
            facts = replace(facts, size=found)
            continue
        number = _read_fact(value, unit, name, example)
        given: dict[str, Any] = {"size": (number,)} if name == "diameter" else {name: number}
        facts = replace(facts, **given)
    return facts


def _read_fact(value: str, unit: str, name: str, example: str) -> float:
    """Return a number in its unit; centimetres are understood."""
    number, _, given = value.partition(" ")
    try:
        bare = float(number)
    except ValueError:
        raise InputError(f'--known {name}: got {value!r}; expected a number, such as --known "{example}"') from None
    if given.strip() == "cm" and unit == "m":
        return round(0.01 * bare, 12)
    return round(float(quantity(value, unit, f"--known {name}")), 12) if given else bare
