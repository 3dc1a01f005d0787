import importlib
import json
import os
import sys

import pytest

from diffloom.cli.doctor import examine, libraries, runtime
from diffloom.plugins.entry import Origin
from diffloom.plugins.report import PluginReport, PluginState
from diffloom_kernels import doctor as cuda


def findings(run, **environment):
    result = run("doctor", "--json", **environment)
    sections = json.loads(result.output)
    return result.exit_code, {found["subject"]: found for section in sections.values() for found in section}


def test_it_examines_everything(run):
    code, found = findings(run)
    assert code == 0
    for subject in (
        "Python",
        "PyTorch",
        "numba",
        "threads",
        "compiled code",
        "driver",
        "PyTorch on CUDA",
    ):
        assert found[subject]["detail"]
    for library in ("PyTorch3D", "Kaolin", "PyTetWild"):
        assert library in found
    assert found["PyTorch"]["health"] == found["numba"]["health"] == "ok"


def test_offers_are_imported_for_a_try(run):
    _, found = findings(run)
    assert found["model toy"]["health"] == "broken"
    assert "No module named 'no_such_module'" in found["model toy"]["detail"]
    assert (found["model shy"]["health"], found["model shy"]["detail"]) == ("absent", "unavailable here: no GPU here")
    assert found["command hello"]["health"] == "ok"


def test_broken_plugins_are_told_and_count_only_in_strict_mode(run, registry):
    registry.record(PluginReport(Origin("bad", "bad-dist", "3"), PluginState.BROKEN, "it hurts"))
    code, found = findings(run)
    assert code == 0
    assert found["plugin bad of bad-dist 3"]["detail"] == "broken: it hurts"
    assert findings(run, DIFFLOOM_STRICT_PLUGINS="1")[0] == 1


def test_the_text_shows_what_to_do(run, registry):
    registry.record(PluginReport(Origin("bad", "bad-dist", "3"), PluginState.BROKEN, "it hurts"))
    text = run("doctor").output
    assert "!! plugin bad of bad-dist 3 broken: it hurts" in " ".join(text.split())
    assert "-> DIFFLOOM_TRACE_PLUGINS=1 shows the traceback" in text


def test_without_pytorch_it_still_answers_and_says_that_nothing_works(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, found = findings(run)
    assert code == 1
    assert found["PyTorch"]["health"] == "fatal"
    assert found["PyTorch"]["advice"] == "pip install torch"


def test_a_library_that_cannot_be_imported_is_broken_not_absent(monkeypatch, tmp_path):
    (tmp_path / "kaolin.py").write_text("raise ImportError('undefined symbol: _ZN')\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    (kaolin,) = [finding for finding in libraries.libraries().findings if finding.subject == "Kaolin"]
    assert kaolin.health == "broken"
    assert "installed, but cannot be imported: ImportError: undefined symbol: _ZN" in kaolin.detail


def test_without_numba_cuda_it_says_what_to_install(monkeypatch):
    def version(name):
        raise cuda.PackageNotFoundError(name)

    monkeypatch.setattr(cuda, "version", version)
    found = {finding.subject: finding for finding in cuda.cuda().findings}
    assert found["kernels on CUDA"].advice == 'pip install "diffloom-core[cuda]"'
    assert found["compilers"].advice == 'pip install "diffloom[cuda-check]"'


def test_a_part_that_fails_is_itself_a_finding(monkeypatch):
    def runtime_that_fails():
        raise OSError("no such luck")

    monkeypatch.setattr(examine, "runtime", runtime_that_fails)
    first, *rest = examine.examine()
    assert first.findings[0].detail == "OSError: no such luck"
    assert len(rest) == 3


def test_thread_settings_are_shown(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    (threads,) = [finding for finding in runtime.runtime().findings if finding.subject == "threads"]
    assert "NUMBA_NUM_THREADS=2" in threads.detail


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of files are POSIX")
def test_a_folder_of_compiled_code_that_others_may_write_to_is_told(monkeypatch, tmp_path):
    tmp_path.chmod(0o777)
    monkeypatch.setenv("DIFFLOOM_CACHE_DIR", str(tmp_path))
    found = runtime._compiled_code()
    assert found.health == "fatal"
    assert "others may write" in found.detail and "DIFFLOOM_CACHE_DIR" in found.advice
