"""The toys of diffloom-fitting, played back."""

import sys
from pathlib import Path

import pytest
import torch

from diffloom.plugins import Registry, core_plugin, use_registry

PLUGINS = Path(__file__).parents[2]
sys.path.insert(0, str(PLUGINS / "fitting" / "tests"))
sys.path.insert(0, str(PLUGINS.parent / "tools"))


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def playback(tmp_path, monkeypatch):
    """A finished fit of the toys."""
    import fitting_toys
    from click.testing import CliRunner
    from test_files import TOY

    from diffloom_fitting import plugin
    from diffloom_studio.commands.run import run
    from diffloom_studio.playback import load_playback

    registry = Registry()
    registry.install(core_plugin, "core")
    registry.install(plugin, "fitting")
    registry.install(fitting_toys.ToyPlugin(), "toys")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY)
    with use_registry(registry):
        done = CliRunner().invoke(run, ["toy.toml", "--out", "out", "--no-report"], catch_exceptions=False)
        assert done.exit_code == 0
        yield load_playback("out")
