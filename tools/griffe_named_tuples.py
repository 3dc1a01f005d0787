"""Extension of griffe: a named tuple has a constructor with its fields, so that the reference shows its signature."""

from __future__ import annotations

from typing import Any

from griffe import Attribute, Class, Extension, Function, Parameter, ParameterKind, Parameters


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
