import importlib
import json
import sys

import torch

from diffloom.cli.doctor import Section, find_library, runtime
from diffloom.interfaces import Image, InputError
from diffloom.plugins import hookimpl
from diffloom.plugins.entry import Origin, PluginReport, PluginState


def findings(run, **environment):
    result = run("doctor", "--json", **environment)
    sections = json.loads(result.output)
    return result.exit_code, {found["subject"]: found for section in sections.values() for found in section}


class Diagnosing:
    """A plugin with a diagnostic that works and one that does not."""

    @hookimpl
    def diffloom_register_diagnostics(self, register):
        register("organ", organ, summary="An organ")
        register("unlucky", unlucky, summary="Fails")


def organ():
    return Section("Instruments", (find_library("Organ", "no_such_module", "organ", "a deep sound"),))


def unlucky():
    raise OSError("no such luck")


def test_it_examines_the_runtime_first_and_what_plugins_diagnose(run, registry):
    registry.install(Diagnosing(), "band", "band-dist", "1.0")
    result = run("doctor", "--json")
    assert result.exit_code == 0
    sections = json.loads(result.output)
    assert list(sections) == ["Runtime", "Instruments", "unlucky", "Plugins"]
    found = {finding["subject"]: finding for section in sections.values() for finding in section}
    for subject in ("Python", "PyTorch", "threads"):
        assert found[subject]["detail"]
    assert found["PyTorch"]["health"] == "ok"
    assert (found["Organ"]["health"], found["Organ"]["detail"]) == (
        "absent",
        "not installed; needed for a deep sound",
    )
    assert found["unlucky"]["detail"] == "OSError: no such luck", "a part that fails is itself a finding"


def test_sections_with_the_same_title_are_joined(run, registry):
    class Second:
        @hookimpl
        def diffloom_register_diagnostics(self, register):
            register("piano", organ, summary="The same section once more")

    registry.install(Diagnosing(), "band")
    registry.install(Second(), "second")
    assert len(json.loads(run("doctor", "--json").output)["Instruments"]) == 2


def test_a_library_that_cannot_be_imported_is_broken_not_absent(monkeypatch, tmp_path):
    (tmp_path / "kaolin.py").write_text("raise ImportError('undefined symbol: _ZN')\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    kaolin = find_library("Kaolin", "kaolin.render.mesh", "kaolin", "a back end")
    assert kaolin.health == "broken"
    assert "installed, but cannot be imported: ImportError: undefined symbol: _ZN" in kaolin.detail


def test_offers_are_imported_for_a_try(run):
    _, found = findings(run)
    assert found["model toy"]["health"] == "broken"
    assert "No module named 'no_such_module'" in found["model toy"]["detail"]
    assert (found["model shy"]["health"], found["model shy"]["detail"]) == ("absent", "unavailable here: no GPU here")
    assert found["command hello"]["health"] == "ok"


class Blank:
    """Renderer of empty images, or of none without its library."""

    def __init__(self, error=None):
        self.error = error

    def render(self, surface, camera, outputs):
        if self.error is not None:
            raise self.error
        return Image(rgba=torch.zeros(1, 16, 16, 4))


class Drawing:
    @hookimpl
    def diffloom_register_renderers(self, register):
        register("blank", lambda: Blank(), summary="Draws nothing")
        register("poor", lambda: Blank(InputError("pip install paint")), summary="Lacks a library")
        register("ill", lambda: Blank(OSError("no canvas")), summary="Fails")


def test_a_renderer_is_ok_only_if_it_draws_a_triangle(run, registry):
    registry.install(Drawing(), "drawing")
    _, found = findings(run)
    assert {
        name: (found[f"renderer {name}"]["health"], found[f"renderer {name}"]["detail"])
        for name in ("blank", "poor", "ill")
    } == {
        "blank": ("broken", "the image shows no triangle where one is"),
        "poor": ("absent", "pip install paint"),
        "ill": ("broken", "OSError: no canvas"),
    }


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


def test_thread_settings_are_shown(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    (threads,) = [finding for finding in runtime().findings if finding.subject == "threads"]
    assert "NUMBA_NUM_THREADS=2" in threads.detail
