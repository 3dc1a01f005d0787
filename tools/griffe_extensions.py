"""Extensions of griffe, which reads the code for the reference: named tuples with signatures, and examples as code."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from griffe import Attribute, Class, Extension, Function, Object, Parameter, ParameterKind, Parameters

_EXAMPLE = re.compile(r"^Example:\n((?:[ \t]+\S.*\n?|[ \t]*\n)+)", flags=re.MULTILINE)


class NamedTuples(Extension):
    """Adds ``__init__`` to classes that derive from ``NamedTuple``."""

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        """Add the constructor once the members of a class are known."""
        if not any(str(base).rpartition(".")[2] == "NamedTuple" for base in cls.bases) or "__init__" in cls.members:
            return
        given = [Parameter("self", kind=ParameterKind.positional_or_keyword)]
        for name, member in cls.members.items():
            if isinstance(member, Attribute) and member.annotation is not None:
                kind = ParameterKind.positional_or_keyword
                given.append(Parameter(name, annotation=member.annotation, kind=kind, default=member.value))
        cls.set_member("__init__", Function("__init__", parameters=Parameters(*given), returns="None"))


class Examples(Extension):
    """Shows the section ``Example:`` of a docstring as code."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Fence the code of the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)


def fence_examples(docstring: str) -> str:
    """Return a docstring whose examples stand between fences, unless they begin with markup of their own.

    Args:
        docstring: Text without the common indentation.

    Returns:
        The text with fences.
    """

    def fenced(match: re.Match[str]) -> str:
        code = textwrap.dedent(match[1]).strip()
        if code.startswith(("`", ">>>", "|")):
            return match[0]
        return "Example:\n" + textwrap.indent(f"```python\n{code}\n```\n", "    ") + "\n"

    return _EXAMPLE.sub(fenced, docstring)
