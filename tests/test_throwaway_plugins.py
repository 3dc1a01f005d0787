"""Separately installed plugins, one for each way to go wrong: each is named, and everything else works."""

import json

import pytest

from diffloom.plugins import installed_registry

HEAD = "from diffloom.plugins import UnavailableError, hookimpl\n"

GOOD = """
import click

@hookimpl
def diffloom_register_losses(register):
    register("throwaway", "throwaway_good:distance", summary="A loss to throw away")

@hookimpl
def diffloom_register_commands(register):
    register("throwaway", "throwaway_good:command", summary="A command to throw away")

def distance(a, b):
    return abs(a - b)

@click.command()
def command():
    click.echo("the command of the good plugin")
"""

RAISING = """
@hookimpl
def diffloom_register_models(register):
    register("half", "throwaway_raising:Half", summary="Offered before the other hook fails")

@hookimpl
def diffloom_register_renderers(register):
    raise ValueError("something in a hook")
"""

OFFER = """
@hookimpl
def diffloom_register_{kind}(register):
    register("{name}", "nowhere:Thing", summary="Something")
"""

DEFINES = """
from diffloom.plugins import Kind

SOUNDS = Kind("sounds", "sound", doc="Functions that return a sound.")

@hookimpl
def diffloom_define_kinds():
    return [SOUNDS]
"""

OFFER_BANG = """
@hookimpl
def diffloom_register_sounds(register):
    register("bang", "throwaway_drum:bang", summary="A loud sound")

def bang():
    return "bang!"
"""

# plugin: (source, state, what its line must say)
PLUGINS = {
    "good": (GOOD, "loaded", ""),
    "import": ("import no_such_library\n" + GOOD, "broken", "ModuleNotFoundError: No module named 'no_such_library'"),
    "syntax": ("def (:\n", "broken", "SyntaxError"),
    "exiting": ("raise SystemExit('bye')\n", "broken", "SystemExit: bye"),
    "argument": (OFFER.format(kind="models", name="arg").replace("(register)", "(registre)"), "broken", "registre"),
    "raising": (RAISING, "broken", "ValueError: something in a hook"),
    "duplicate": (
        OFFER.format(kind="integrators", name="semi_implicit"),
        "broken",
        "throwaway-duplicate 1.0 register the integrator 'semi_implicit'",
    ),
    "later": (
        OFFER.format(kind="losses", name="throwaway"),
        "broken",
        "both throwaway-good 1.0 and throwaway-later 1.0 register the loss 'throwaway'",
    ),
    "future": (
        "DIFFLOOM_PLUGIN_API = 99\n" + OFFER.format(kind="models", name="future"),
        "broken",
        "it needs plugin API 99, and this diffloom-core has 3: upgrade diffloom-core",
    ),
    "old": (
        "DIFFLOOM_PLUGIN_API = 2\n" + OFFER.format(kind="models", name="old"),
        "broken",
        "it was written for plugin API 2, and the oldest served is 3: upgrade the plugin",
    ),
    "band": (DEFINES, "loaded", ""),
    "drum": (OFFER_BANG, "loaded", ""),
    "noise": (DEFINES, "broken", "it defines the kind 'sound', which throwaway-band 1.0 defines already"),
    "elsewhere": ("raise UnavailableError('runs on the moon only')\n", "unavailable", "runs on the moon only"),
    "nowhere": ("", "broken", "ModuleNotFoundError: No module named 'throwaway_no_such_module'"),
}
#: Loaded too, with a line on stderr that must say this; None for none.
SERVED = {
    "newer": (
        OFFER.format(kind="models", name="newer") + OFFER.format(kind="smells", name="rose"),
        "its hook diffloom_register_smells is unknown here and left out: install the plugin that defines it",
    ),
    "discreet": (
        OFFER.format(kind="models", name="discreet")
        + OFFER.format(kind="smells", name="rain").replace("@hookimpl", "@hookimpl(optionalhook=True)"),
        None,
    ),
}
PLUGINS |= {plugin: (source, "loaded", "") for plugin, (source, _) in SERVED.items()}
BROKEN = sorted(plugin for plugin, (_, state, _) in PLUGINS.items() if state == "broken")


@pytest.fixture(scope="module")
def installed(environment, wheel, tmp_path_factory):
    """An environment with all of them installed."""
    folder = tmp_path_factory.mktemp("wheels")
    wheels = [
        wheel(folder, f"throwaway-{plugin}", HEAD + source, plugin, "throwaway_no_such_module" if not source else None)
        for plugin, (source, _, _) in PLUGINS.items()
    ]
    environment.install(*wheels)
    return environment


def listing(environment, **variables):
    result = environment.diffloom("plugins", "--json", **variables)
    return {plugin["name"]: plugin for plugin in json.loads(result.stdout)["plugins"]}


def test_each_throwaway_plugin_has_its_state_and_reason(installed):
    found = listing(installed)
    for plugin, (_, state, reason) in PLUGINS.items():
        assert found[plugin]["state"] == state, found[plugin]
        assert found[plugin]["distribution"] == f"throwaway-{plugin}"
        assert reason in (found[plugin]["reason"] or "")


def test_each_broken_one_gets_one_line_on_stderr_with_distribution_and_version(installed):
    lines = installed.diffloom("plugins").stderr.splitlines()
    assert len(lines) == len(BROKEN) + sum(said is not None for _, said in SERVED.values())
    for plugin in BROKEN:
        (line,) = [line for line in lines if f"plugin {plugin!r} of throwaway-{plugin} 1.0 is broken: " in line]
        assert PLUGINS[plugin][2] in line


@pytest.mark.parametrize("plugin", SERVED)
def test_a_plugin_with_an_unknown_hook_gets_one_line_on_stderr(plugin, installed):
    lines = installed.diffloom("plugins").stderr.splitlines()
    said = [line for line in lines if f"plugin {plugin!r} of throwaway-{plugin} 1.0: " in line]
    wanted = SERVED[plugin][1]
    assert [wanted in line for line in said] == ([] if wanted is None else [True])
    found = listing(installed)[plugin]
    assert (found["state"], [offer["name"] for offer in found["offers"]]) == ("loaded", [plugin])
    assert len(found["warnings"]) == len(said)


def test_the_error_for_a_missing_name_names_the_broken_plugin(installed):
    asked = "from diffloom.plugins import get_model\ntry:\n  get_model('half')\nexcept LookupError as e:\n  print(e)"
    said = installed.run("-c", asked).stdout
    assert "the model 'half' comes with the plugin 'raising' of throwaway-raising 1.0, which is broken: Value" in said


def test_sound_plugins_work_beside_broken_ones(installed):
    found = listing(installed)
    for report in installed_registry().plugins:
        ours = found[report.origin.plugin]
        assert (ours["state"], len(ours["offers"])) == (report.state, len(report.offers))
    use = (
        "from diffloom.plugins import models; from diffloom_fitting import get_loss; "
        "print(get_loss('throwaway')(5, 3), 'half' in models())"
    )
    assert installed.run("-c", use).stdout == "2 False\n"
    assert installed.diffloom("throwaway").stdout == "the command of the good plugin\n"


def test_one_defines_a_kind_and_another_registers_for_it(installed):
    data = json.loads(installed.diffloom("plugins", "--json").stdout)
    hooks = {hook["hook"]: hook["defined_by"] for hook in data["hooks"]}
    assert hooks["diffloom_register_sounds"] == "throwaway-band"
    assert installed.run("-c", "from throwaway_band import SOUNDS; print(SOUNDS.get('bang')())").stdout == "bang!\n"
    alone = installed.diffloom("plugins", "--json", DIFFLOOM_NO_PLUGINS="band,noise")
    assert "its hook diffloom_register_sounds is unknown here and left out" in alone.stderr


@pytest.mark.parametrize("command", [["plugins"], ["doctor"], ["--help"]])
def test_the_tools_work_when_every_plugin_is_broken(installed, command):
    result = installed.diffloom(*command, DIFFLOOM_PLUGINS=",".join(BROKEN))
    assert result.returncode == 0
    assert "semi_implicit" in result.stdout or "doctor" in result.stdout
    assert "good" not in [line.split()[0] for line in result.stdout.splitlines() if "loaded" in line]


def test_strict_mode_turns_broken_plugins_into_errors(installed):
    result = installed.diffloom("throwaway", DIFFLOOM_STRICT_PLUGINS="1")
    assert result.returncode == 1
    assert all(f"throwaway-{plugin} 1.0 is broken" in result.stderr for plugin in BROKEN)
    assert "Traceback" not in result.stderr
    assert installed.diffloom("plugins", DIFFLOOM_STRICT_PLUGINS="1").returncode == 1
    assert installed.diffloom("throwaway", DIFFLOOM_STRICT_PLUGINS="1", DIFFLOOM_PLUGINS="good").returncode == 0


def test_plugins_can_be_switched_off(installed):
    assert listing(installed, DIFFLOOM_PLUGINS="")["good"]["state"] == "disabled"
    result = installed.diffloom("--no-plugin", "throwaway-good", "--no-plugin", "import", "plugins", "--json")
    found = {plugin["name"]: plugin for plugin in json.loads(result.stdout)["plugins"]}
    assert found["good"]["state"] == found["import"]["state"] == "disabled"
    assert found["later"]["state"] == "loaded", "its name is free now"


def test_uninstalling_one_shrinks_the_list_and_nothing_else_changes(installed):
    before = listing(installed)
    installed.pip("uninstall", "-y", "throwaway-good", "throwaway-later")
    after = listing(installed)
    assert set(before) - set(after) == {"good", "later"}
    assert {name: after[name]["state"] for name in after} == {name: before[name]["state"] for name in after}
    result = installed.diffloom("throwaway")
    assert result.returncode == 2
    assert "there is no command 'throwaway'" in result.stderr
