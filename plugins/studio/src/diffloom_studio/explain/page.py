"""One explanation, and how it is laid out."""

import textwrap
from dataclasses import dataclass

WIDTH = 100


@dataclass(frozen=True)
class Page:
    """title: one line. text: what it is, in paragraphs. rows: (what, value). table: headed rows of a listing."""

    title: str
    text: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    heading: str = ""
    table: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        lines = [self.title]
        for paragraph in self.text.split("\n\n") if self.text else ():
            lines += [*textwrap.wrap(" ".join(paragraph.split()), WIDTH, initial_indent="  ", subsequent_indent="  ")]
        wide = max((len(what) for what, _ in self.rows), default=0)
        for what, value in self.rows:
            indent = " " * (wide + 4)
            lines += textwrap.wrap(value, WIDTH, initial_indent=f"  {what:{wide}}  ", subsequent_indent=indent)
        if self.table:
            lines += [f"  {self.heading}:", *_columns(self.table)]
        return "\n".join(lines)


def _columns(table: tuple[tuple[str, ...], ...]) -> list[str]:
    """Aligned columns; the last one is wrapped."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]) - 1)]
    lines: list[str] = []
    for row in table:
        start = "    " + "".join(f"{cell:{width}}  " for cell, width in zip(row, widths, strict=False))
        lines += textwrap.wrap(row[-1], WIDTH, initial_indent=start, subsequent_indent=" " * len(start)) or [start]
    return lines
