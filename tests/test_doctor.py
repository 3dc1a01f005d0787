"""``diffloom doctor`` with everything of this repository installed."""

import json
from importlib.util import find_spec

from click.testing import CliRunner

from diffloom.cli.group import diffloom
from diffloom.plugins import renderers


def test_doctor_reports_every_section():
    result = CliRunner().invoke(diffloom, ["doctor", "--json"])
    assert result.exit_code == 0
    sections = json.loads(result.stdout)
    assert list(sections) == ["Runtime", "CUDA", "Optional libraries", "Plugins"]
    found = {finding["subject"]: finding for section in sections.values() for finding in section}
    for subject in ("Python", "PyTorch", "numba", "threads", "compiled code", "driver", "PyTorch on CUDA"):
        assert found[subject]["detail"]
    for library in ("PyTorch3D", "Kaolin", "PyTetWild", "PyAV"):
        assert library in found
    assert found["PyTorch"]["health"] == found["numba"]["health"] == "ok"
    for name in renderers():
        drawn = found[f"renderer {name}"]
        if name == "mitsuba" and find_spec("mitsuba") is None:
            assert drawn["health"] == "absent"
            assert "pip install" in drawn["detail"]
        else:
            assert drawn["health"] == "ok"
            assert "drew a triangle" in drawn["detail"]
