"""Kinds of things that plugins register, with one hook each: the core's kinds, and the class for further ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from diffloom.plugins.errors import RegistrationError

HOOK_PREFIX = "diffloom_register_"
_PLURAL = re.compile(r"[a-z]+(_[a-z]+)*")


@dataclass(frozen=True)
class Kind:
    """Kind of things that plugins register, such as models.

    A plugin defines a kind of its own by returning it from the hook ``diffloom_define_kinds``; every plugin may then
    implement the hook ``diffloom_register_<plural>``.

    Args:
        plural: Plural in lower case with ``_`` between words, the end of the hook's name.
        singular: Singular in lower case, as messages use it.
        interface: Import path ``"package.module:Class"`` of the class that a factory must derive from; None accepts any
            callable.
        doc: One line on what a plugin registers, shown with the hook.
        subcommands: True if a name may have two words, the second one inside the group named by the first.
    """

    plural: str
    singular: str
    interface: str | None = None
    doc: str = ""
    subcommands: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.plural, str) or not _PLURAL.fullmatch(self.plural):
            raise RegistrationError(
                f"the kind {self.singular!r} has the plural {self.plural!r}: use lower case letters, with '_' between "
                "words, as the end of its hook's name"
            )

    @property
    def hook(self) -> str:
        """Name of the hook that registers things of this kind."""
        return f"{HOOK_PREFIX}{self.plural}"

    def get(self, name: str) -> Any:
        """Import and return the registered factory called ``name``.

        Args:
            name: Registered name.

        Returns:
            Class or function.

        Raises:
            UnknownNameError: The name does not exist; the message lists the registered ones.
            FactoryError: The factory cannot be imported, or is unavailable here.
        """
        from diffloom.plugins.current import current_registry

        return current_registry().get(self, name)

    def names(self) -> tuple[str, ...]:
        """Return the registered names of this kind, sorted.

        Returns:
            Names.
        """
        from diffloom.plugins.current import current_registry

        return current_registry().names(self)


MODELS = Kind("models", "model", "diffloom.interfaces:Model", "Classes that implement ``diffloom.interfaces.Model``.")
INTEGRATORS = Kind(
    "integrators",
    "integrator",
    "diffloom.interfaces:Integrator",
    "Classes that implement ``diffloom.interfaces.Integrator``.",
)
RENDERERS = Kind(
    "renderers", "renderer", "diffloom.interfaces:Renderer", "Classes that implement ``diffloom.interfaces.Renderer``."
)
COMMANDS = Kind(
    "commands",
    "command",
    None,
    "Commands of the command line: ``click`` commands or groups; ``plugins check`` is in the group ``plugins``.",
    subcommands=True,
)
DIAGNOSTICS = Kind(
    "diagnostics", "diagnostic", None, "Functions without arguments that return a ``diffloom.cli.doctor.Section``."
)

KINDS = (MODELS, INTEGRATORS, RENDERERS, COMMANDS, DIAGNOSTICS)
"""The kinds of the core. ``Registry.kinds`` has those of the installed plugins too."""
