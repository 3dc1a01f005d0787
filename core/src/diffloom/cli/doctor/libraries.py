"""Optional libraries: which are installed, which work, and what each is good for."""

import importlib
import importlib.util
from importlib.metadata import PackageNotFoundError, version

from diffloom.cli.doctor.finding import Finding, Health, Section, cause

_LIBRARIES = {
    "PyTorch3D": ("pytorch3d.renderer", "pytorch3d", "the back end 'pytorch3d' of the renderer softras"),
    "Kaolin": ("kaolin.render.mesh", "kaolin", "the back end 'kaolin' of the renderer dibr (needs CUDA)"),
    "PyTetWild": ("pytetwild", "pytetwild", "tetrahedra from any closed surface"),
    "PyAV": ("av", "av", "reading and writing video"),
}


def libraries() -> Section:
    """All optional libraries."""
    return Section("Optional libraries", tuple(_library(subject, *about) for subject, about in _LIBRARIES.items()))


def _library(subject: str, module: str, distribution: str, purpose: str) -> Finding:
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
