"""Kinds of experiment file: recognised by their tables, and dispatched to with the options that each takes."""

import inspect
import json
import tomllib
from dataclasses import fields
from typing import ClassVar

import click
import pytest
from click.testing import CliRunner
from pydantic import Field
from toy_file import TOY

from diffloom.errors import InputError
from diffloom.plugins import hookimpl
from diffloom_experiments import ExperimentKind
from diffloom_experiments.keys import combined_schema, file_keys
from diffloom_experiments.kinds import VideoKind, experiment_kinds, recognise, recognise_place
from diffloom_experiments.values import Table
from diffloom_motion import MotionKind
from diffloom_studio.commands.files import schema, warm
from diffloom_studio.commands.forward import export, render, simulate
from diffloom_studio.commands.many import dataset, sweep
from diffloom_studio.commands.run import run
from diffloom_studio.dispatch import EngineOptions, ExperimentOptions

MOTION = """
title = "A cube"
substeps = 4
[model]
name = "toy"
[recording]
file = "tosses.npz"
rate = 100
columns = { position = [0, 1, 2] }
[loss]
rotation_length = 0.05
[unknowns.drag]
start = { uniform = [0.1, 0.5] }
[variants.quick]
"substeps" = 2
[variants.coarse]
"substeps" = 1
"""

#: A value for each option of `run`; a flag has none.
VALUES = {"settings": "title=Other", "variants": "coarse", "seed": "3", "engine": "local", "jobs": "2"}
OPTIONS = [
    pytest.param(option, spelling, id=spelling)
    for option in run.params
    if isinstance(option, click.Option)
    for spelling in (*option.opts, *option.secondary_opts)
]


#: (file, seed) of each call of `run_flow`.
ASKED = []


class FlowFile(Table):
    """A file of the third kind."""

    flow: dict[str, float] = Field(description="how it flows")
    seed: int = Field(0, description="of its draws")


def run_flow(file, *, seed):
    ASKED.append((file, seed))


class FlowKind(ExperimentKind):
    """Keeps what it was asked to do."""

    noun = "a file about flow"
    tables = ("flow",)
    actions: ClassVar = {"run": run_flow, "simulate": run_flow}

    def schema(self):
        return FlowFile

    def load(self, raw, folder, name, **changes):
        raise NotImplementedError


class FlowPlugin:
    @hookimpl
    def diffloom_register_experiment_kinds(self, register):
        register("flow", FlowKind, summary="Flow")


@pytest.fixture
def files(tmp_path, toy_registry, monkeypatch):
    (tmp_path / "video.toml").write_text(TOY)
    (tmp_path / "motion.toml").write_text(MOTION)
    (tmp_path / "flow.toml").write_text("[flow]\nspeed = 1.0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(command, *arguments):
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False).output


def test_a_file_is_recognised_by_its_tables(files):
    assert isinstance(recognise_place("video.toml"), VideoKind)
    assert isinstance(recognise_place("motion.toml"), MotionKind)
    assert isinstance(recognise({}, "empty.toml"), VideoKind)
    assert list(experiment_kinds()) == ["video", "motion"]


def test_two_claims_are_refused_by_name(files, toy_registry):
    toy_registry.install(FlowPlugin(), "flow")
    with pytest.raises(InputError, match=r"both.toml: .* 'flow' by \[flow\] and 'motion' by \[recording\]; keep one"):
        recognise({"flow": {}, "recording": {}, "time": {}}, "both.toml")


@pytest.mark.parametrize(("option", "spelling"), OPTIONS)
def test_every_option_of_run_is_honoured_or_refused_for_motion(files, option, spelling):
    kind = recognise_place("motion.toml")
    assert kind.action("run") is None, "the command carries it out itself, as for a video"
    if option.name not in ("renderer", "target_renderer", "view"):
        kind.check_options("run", {option.name: spelling})
        return
    with pytest.raises(InputError) as refused:
        invoke(run, "motion.toml", spelling, *([] if option.is_flag else ["given"]))
    assert (
        str(refused.value) == f"{spelling} does not apply to a file about measured motion ([recording]); leave it out"
    )


@pytest.mark.parametrize(("option", "spelling"), OPTIONS)
def test_every_option_of_run_applies_to_a_video(files, option, spelling):
    """The command's own function takes it: unchanged, in the loaded object, or in the choice of an engine."""
    own = {*inspect.signature(inspect.unwrap(run.callback)).parameters}
    assert option.name in own | {part.name for part in (*fields(ExperimentOptions), *fields(EngineOptions))}
    kind = recognise_place("video.toml")
    assert kind.action("run") is None
    kind.check_options("run", {option.name: spelling})


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (simulate, ()), (render, ()), (dataset, ("--count", "1", "--out", "d")), (export, ("out.glb",)), (warm, ()),
    ],
    ids=lambda part: part.name if isinstance(part, click.Command) else "",
)  # fmt: skip
def test_commands_that_do_not_apply_are_refused_by_name(files, command, arguments):
    with pytest.raises(InputError) as refused:
        invoke(command, "motion.toml", *arguments)
    words = "does not apply to a file about measured motion ([recording]); commands that do: `diffloom run`, "
    words += "`diffloom check-gradient`, `diffloom landscape`, `diffloom sweep`"
    assert str(refused.value) == f"`diffloom {command.name}` {words}"


def test_a_third_kind_is_dispatched_to(files, toy_registry):
    toy_registry.install(FlowPlugin(), "flow")
    ASKED.clear()
    invoke(run, "flow.toml", "--seed", "4")
    invoke(simulate, "flow.toml")
    assert ASKED == [("flow.toml", 4), ("flow.toml", None)]
    with pytest.raises(InputError, match=r"--no-video does not apply to a file about flow \(\[flow\]\); leave it out"):
        invoke(simulate, "flow.toml", "--no-video")
    with pytest.raises(InputError, match=r"`diffloom sweep` does not apply to a file about flow"):
        invoke(sweep, "flow.toml")


def test_the_schema_has_every_kind(files, toy_registry):
    toy_registry.install(FlowPlugin(), "flow")
    found = json.loads(invoke(schema))
    assert {"video", "motion", "flow", "motion.RecordingTable"} <= set(found["$defs"])
    assert json.loads(invoke(schema, "--kind", "flow"))["title"] == "FlowFile"
    with pytest.raises(InputError, match="expected one of flow, motion, video"):
        invoke(schema, "--kind", "films")
    jsonschema = pytest.importorskip("jsonschema")
    check = jsonschema.Draft202012Validator(combined_schema(experiment_kinds()))
    assert check.is_valid({"flow": {"speed": 1.0}})
    assert not check.is_valid({"flow": {"speed": 1.0}, "time": {}})


def test_keys_of_every_kind_are_explained():
    from diffloom_studio.explain import find_explanations

    pages = [str(page) for page in find_explanations("unknowns.start")]
    assert pages[0].startswith("unknowns.<name>.start: key of an experiment file")
    assert any("key of a file about measured motion" in page for page in pages)
    for place in file_keys(MotionKind().schema()):
        assert find_explanations(place), place


def test_a_draw_of_a_motion_file_follows_the_seed(files):
    kind = MotionKind()
    raw = tomllib.loads(MOTION)
    starts = [
        kind.load(raw, files, "motion.toml", changes={"seed": seed}).content.unknowns["drag"].start
        for seed in (1, 2, 1)
    ]
    assert starts[0] == starts[2] != starts[1]
    assert kind.load(raw, files, "motion.toml", quick=True, variants=["coarse"]).content.substeps == 1
    with pytest.raises(InputError, match="expected one of the file's own, quick, coarse"):
        kind.load(raw, files, "motion.toml", variants=["fine"])
    with pytest.raises(InputError, match="time: unknown key"):
        kind.load({**raw, "time": {}}, files, "motion.toml")


@pytest.mark.parametrize("name", ["video.toml", "motion.toml"])
def test_iterations_are_those_of_the_last_stage(files, name):
    changed = ExperimentOptions(iterations=7).load(name).content
    assert getattr(changed, "iterations", None) == 7 or changed.stages[-1].iterations == 7
    two = '[[stages]]\noptimiser = "adam"\niterations = 3\n[[stages]]\noptimiser = "gauss_newton"\n'
    text = (files / name).read_text()
    (files / name).write_text(text[: text.index("[[stages]]")] + two if "[[stages]]" in text else f"{text}{two}")
    stages = ExperimentOptions(iterations=7).load(name).content.stages
    assert [stage.iterations for stage in stages] == [3, 7]
