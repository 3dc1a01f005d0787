"""``diffloom doctor`` with everything of this repository installed."""

import json

from click.testing import CliRunner

from diffloom.cli.group import diffloom


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
