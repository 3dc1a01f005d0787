"""The hooks of diffloom: the whole contract between the core and a plugin.

A plugin is a module named by an entry point in the group ``diffloom``. It implements any of the functions of `Hooks`
under the decorator ``hookimpl``. Each is called once, with a callable `Register`, and hands over *factories*: a name,
an import path such as ``"package.module:Class"`` (or the object itself), and one line that says what it is. Import
paths keep listing fast, because nothing is imported until somebody asks for the thing by name.
"""

from collections.abc import Callable
from typing import Any, Protocol

import pluggy

PROJECT = "diffloom"
ENTRY_POINT_GROUP = "diffloom"

PLUGIN_API = 2
"""Version of this contract. It grows by one when plugins written for the last one have something to change."""

OLDEST_PLUGIN_API = 1
"""The oldest version that this core still serves."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

Factory = str | Callable[..., Any]
"""An import path ``"package.module:attribute"`` or the object itself."""

Availability = str | Callable[[], str | None]
"""Import path of, or itself, a function without arguments: None where a thing can run, else the reason why not."""


class Register(Protocol):
    """What a hook is given: call it once for each thing on offer."""

    def __call__(
        self, name: str, factory: Factory, *, summary: str, available: Availability | None = None,
        formerly: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """Offer ``factory`` under ``name``.

        name: lower case letters, digits, ``_`` and ``-``, starting with a letter; unique among all plugins.
        factory: import path ``"package.module:attribute"`` (preferred: nothing is imported) or the object itself.
        summary: one line for tables and help.
        available: says, without importing anything heavy, why this cannot run here, or None where it can.
        formerly: names it had before; who asks for one gets it, with a warning that says the new name.
        """


class Hooks:
    """The hook specifications. A plugin implements any of them as plain functions of its module.

    A plugin that wants to run on older cores too marks hooks that these lack as ``@hookimpl(optionalhook=True)``: there
    they are left out without a word. An unknown hook without the mark is left out with a warning.
    """

    @hookspec
    def diffloom_register_models(self, register: Register) -> None:
        """Offer physical models: classes that implement ``diffloom.interfaces.Model``."""

    @hookspec
    def diffloom_register_integrators(self, register: Register) -> None:
        """Offer integrators: classes that implement ``diffloom.interfaces.Integrator``."""

    @hookspec
    def diffloom_register_renderers(self, register: Register) -> None:
        """Offer renderers: classes that implement ``diffloom.interfaces.Renderer``."""

    @hookspec
    def diffloom_register_terms(self, register: Register) -> None:
        """Offer force terms that other people's models may use."""

    @hookspec
    def diffloom_register_contact_laws(self, register: Register) -> None:
        """Offer contact laws: classes that implement ``diffloom.contact.ContactLaw``. Since plugin API 2."""

    @hookspec
    def diffloom_register_losses(self, register: Register) -> None:
        """Offer losses: classes that implement ``diffloom_fitting.Loss``, how far a drawn video is from the target."""

    @hookspec
    def diffloom_register_optimisers(self, register: Register) -> None:
        """Offer optimisers: classes that implement ``diffloom_fitting.Optimiser``. Since plugin API 2."""

    @hookspec
    def diffloom_register_video_readers(self, register: Register) -> None:
        """Offer video readers: classes that implement ``diffloom_fitting.VideoReader``. Since plugin API 2."""

    @hookspec
    def diffloom_register_cameras(self, register: Register) -> None:
        """Offer kinds of camera: classes that implement ``diffloom_fitting.CameraPlacement``. Since plugin API 2."""

    @hookspec
    def diffloom_register_segmenters(self, register: Register) -> None:
        """Offer segmenters: classes that implement ``diffloom_fitting.Segmenter``. Since plugin API 2."""

    @hookspec
    def diffloom_register_loggers(self, register: Register) -> None:
        """Offer loggers: classes that implement ``diffloom_fitting.Logger``, told of every iteration of a fit."""

    @hookspec
    def diffloom_register_commands(self, register: Register) -> None:
        """Offer commands of the command line: ``click`` commands or groups."""
