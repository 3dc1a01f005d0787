"""The documentation covers every hook, its snippets run, and it builds."""

import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import page_weights
import pytest
import reproducing
from browser import CHROMIUM, Browser
from click.testing import CliRunner
from links import dead_links_of_markdown, dead_links_of_site

from diffloom.cli.group import diffloom
from diffloom.plugins import PluginState, Registry, installed_registry
from diffloom.plugins.hookspecs import DEFINE_KINDS
from diffloom.plugins.selection import EXCEPT, ONLY, STRICT, TRACE

#: Kinds of this project; the hook that registers things of a kind is described in docs/plugins.md.
KINDS = installed_registry().kinds
HOOKS = [kind.hook for kind in KINDS]


def snippets(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def guide(repository):
    return (repository / "docs" / "plugins.md").read_text()


def registry_that_knows_all_kinds() -> Registry:
    registry = Registry()
    for kind in KINDS:
        origin = installed_registry().definer(kind)
        if origin is not None:
            registry.define_kinds([kind], origin)
    return registry


@pytest.mark.parametrize("hook", [DEFINE_KINDS, *HOOKS])
def test_every_hook_has_a_section_whose_example_works(hook, guide):
    sections = re.findall(rf"^### {hook}\n(.*?)(?=^##)", guide, flags=re.DOTALL | re.MULTILINE)
    assert len(sections) == 1, f"docs/plugins.md needs one section '### {hook}'"
    (example,) = snippets(sections[0])
    plugin = ModuleType("example")
    exec(example, plugin.__dict__)
    registry = registry_that_knows_all_kinds()
    registry.install(plugin, "example")
    assert registry.plugins[0].warnings == ()
    if hook == DEFINE_KINDS:
        assert len(registry.kinds) == len(KINDS) + 1
    else:
        (kind,) = [kind for kind in KINDS if kind.hook == hook]
        assert len(registry.names(kind)) == 1


def test_the_table_of_hooks_says_which_distribution_defines_each(guide):
    named = dict(re.findall(r"^\| \[`(diffloom_\w+)`\]\(#\w+\) \| `([\w-]+)` \|", guide, flags=re.MULTILINE))
    definers = {kind.hook: installed_registry().definer(kind) for kind in KINDS}
    wanted = {hook: "diffloom-core" if origin is None else origin.distribution for hook, origin in definers.items()}
    assert named == {DEFINE_KINDS: "diffloom-core", **wanted}


def test_no_section_documents_a_hook_that_is_gone(guide):
    assert sorted(re.findall(r"^### (diffloom_\w+)", guide, flags=re.MULTILINE)) == sorted([DEFINE_KINDS, *HOOKS])


def test_every_snippet_of_the_guide_runs(guide):
    for snippet in snippets(guide):
        exec(snippet, {"__name__": "snippet"})


DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = [
    str(page.relative_to(DOCS))
    for page in sorted(DOCS.rglob("*.md"))
    # Scripts of the gallery run in test_gallery.py.
    if page.name != "plugins.md" and page.parent.name != "gallery" and snippets(page.read_text())
]


@pytest.mark.parametrize("page", PAGES)
def test_every_snippet_of_the_other_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A real module, so that what a page defines can be pickled as from a file.
    module = ModuleType(f"page_{Path(page).stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for snippet in snippets((DOCS / page).read_text()):
        if "diffloom_control.gym" in snippet and find_spec("gymnasium") is None:
            continue  # comes with the extra "gym"
        exec(compile(snippet, page, "exec"), module.__dict__)


def test_every_command_of_the_guide_runs(repository):
    commands = [
        line
        for page in sorted((repository / "docs" / "guide").glob("*.md"))
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.DOTALL)
        for line in block.splitlines()
    ]
    assert commands
    for line in commands:
        program, *arguments = shlex.split(line)
        assert program == "diffloom"
        result = CliRunner().invoke(diffloom, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output[-2000:]}"


def test_the_lines_of_python_in_readme_run(repository):
    (snippet,) = snippets((repository / "README.md").read_text())
    exec(snippet, {"__name__": "readme"})


def test_states_and_switches_are_documented(guide):
    for word in [*PluginState, ONLY, EXCEPT, STRICT, TRACE, "--no-plugin", "DIFFLOOM_PLUGIN_API"]:
        assert str(word) in guide


def test_the_page_of_the_paper_is_written_from_the_results():
    assert reproducing.PAGE.read_text(encoding="utf-8") == reproducing.make_page(), "run tools/reproducing.py"
    for name in reproducing.COPIED:
        assert (reproducing.IMAGES / name).read_bytes() == (reproducing.RESULTS / name).read_bytes(), name


def test_the_documentation_builds_and_fetches_nothing(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 4
    for page in pages:
        fetched = re.findall(r'(?:src|<link[^>]*href)="(https?://[^"]+)"', page.read_text())
        assert not fetched, f"{page.name} fetches {fetched} when it is opened"


def test_no_link_of_the_site_or_the_markdown_files_is_dead(site, tmp_path):
    assert dead_links_of_markdown() == []
    assert dead_links_of_site(site) == []
    (tmp_path / "a.html").write_text('<a href="b.html">b</a><a href="#c">c</a><a href="#d" id="d">d</a>')
    assert dead_links_of_site(tmp_path) == ["a.html: b.html", "a.html: #c"]


def test_pages_and_site_are_light(site):
    assert page_weights.measure_site(site) < page_weights.LARGEST_SITE
    heavy = {name: sum(w.values()) for name, w in page_weights.weigh_site(site).items()}
    assert not [name for name, weight in heavy.items() if weight > page_weights.LARGEST_PAGE], heavy
    assert heavy["gallery/index.html"] > 1e6  # its clips are counted


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_no_page_scrolls_sideways_and_no_code_is_clipped(site):
    """Checked on a phone and beside the navigation; wide tables may scroll in a box of their own."""
    clipped = "[...document.querySelectorAll('pre > code')].filter(c => c.scrollWidth > c.clientWidth + 1).length"
    with Browser() as browser:
        for name in (
            "index",
            "fitting",
            "models/fem",
            "reference/scene",
            "reference/parameters",
            "gallery/index",
            "gallery/fem_ball",
            "reproducing",
        ):
            for width in (390, 1200):
                page = browser.open((site / f"{name}.html").as_uri(), width, dark=width == 390)
                assert page.ask("document.documentElement.scrollWidth") <= width, (name, width)
                assert page.ask(clipped) == 0, (name, width)
                back = page.ask("getComputedStyle(document.body).backgroundColor")
                assert (sum(map(int, re.findall(r"\d+", back)[:3])) < 200) == (width == 390), back
        assert page.ask("getComputedStyle(document.querySelector('.md-sidebar--primary')).position") == "sticky"
