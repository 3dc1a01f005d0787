"""Formulas in pages: TeX between dollars becomes MathML when the site is built, so pages need no script for it."""

from __future__ import annotations

import re
from html import escape

#: Code, which is left alone, or a formula: ``$$...$$`` in a paragraph of its own, or ``$...$`` within a line.
_CODE_OR_FORMULA = re.compile(
    r"(?P<code>^(?P<fence>```|~~~).*?^(?P=fence)[^\S\n]*$|`+[^`]*`+)"
    r"|\$\$(?P<block>.+?)\$\$|(?<![\\\w$])\$(?P<inline>[^\s$](?:[^$\n]*?[^\s$])?)\$(?![\w$])",
    flags=re.DOTALL | re.MULTILINE,
)


def take_formulas(markdown: str) -> tuple[str, list[str]]:
    """Replace the formulas of a page by placeholders, which Markdown leaves unchanged.

    Args:
        markdown: Text of the page.

    Returns:
        The text with placeholders, and the MathML for each of them.
    """
    from latex2mathml.converter import convert

    found: list[str] = []

    def placeholder(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        tex = match["block"] if match["block"] is not None else match["inline"]
        display = "inline" if match["block"] is None else "block"
        mathml = convert(tex.strip(), display=display)
        label = escape(" ".join(tex.split()), quote=True)
        found.append(mathml.replace("<math ", f'<math alttext="{label}" ', 1))
        return f"FORMULA{len(found) - 1}END"

    return _CODE_OR_FORMULA.sub(placeholder, markdown), found


def put_formulas(html: str, formulas: list[str]) -> str:
    """Replace the placeholders of ``take_formulas`` in a page's HTML by their MathML."""
    html = re.sub(r"<p>FORMULA(\d+)END</p>", r'<div class="formula">FORMULA\1END</div>', html)
    return re.sub(r"FORMULA(\d+)END", lambda match: formulas[int(match[1])], html)
