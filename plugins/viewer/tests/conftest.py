"""A finished fit of the toys, played back."""

import pytest
from toy_file import TOY


@pytest.fixture
def playback(toy_registry, tmp_path, monkeypatch):
    """A finished fit of the toys."""
    from click.testing import CliRunner

    from diffloom_studio.commands.run import run
    from diffloom_studio.playback import load_playback

    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY)
    done = CliRunner().invoke(run, ["toy.toml", "--out", "out", "--no-report"], catch_exceptions=False)
    assert done.exit_code == 0
    return load_playback("out")
