"""Optional libraries: which are installed, which work, and what each is good for."""

import importlib
import importlib.util
from importlib.metadata import PackageNotFoundError, version

from diffloom.cli.doctor.finding import Finding, Health, Section, cause

_LIBRARIES = {
    "PyTorch3D": ("pytorch3d", "pytorch3d", "the back end 'pytorch3d' of the renderer softras"),
    "Kaolin": ("kaolin", "kaolin", "the back end 'kaolin' of the renderer dibr (needs CUDA)"),
    "Mitsuba": ("mitsuba", "mitsuba", "physically based rendering"),
    "PyTetWild": ("pytetwild", "pytetwild", "tetrahedra from any closed surface"),
    "PyAV": ("av", "av", "reading and writing video"),
    "viser": ("viser", "viser", "the viewer in the browser"),
    "Ray": ("ray", "ray", "sweeps on a cluster"),
}


def libraries() -> Section:
    """All optional libraries."""
    return Section("Optional libraries", tuple(_library(subject, *about) for subject, about in _LIBRARIES.items()))


def _library(subject: str, module: str, distribution: str, purpose: str) -> Finding:
    try:
        if importlib.util.find_spec(module) is None:
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
