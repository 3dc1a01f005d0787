"""Registrations of diffloom-studio. Import paths only: nothing heavy is imported before it is used."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Register the commands of the application."""
    register("run", "diffloom_studio.commands.run:run", summary="Fit an experiment's unknowns to its video")
    register("simulate", "diffloom_studio.commands.forward:simulate", summary="Simulate a scene forward")
    register("render", "diffloom_studio.commands.forward:render", summary="Draw a scene")
    register(
        "landscape",
        "diffloom_studio.commands.loss:landscape",
        summary="Plot the loss over one or two parameters",
    )
    register(
        "check-gradient",
        "diffloom_studio.commands.loss:check_gradient",
        summary="Compare an experiment's gradient with finite differences",
    )
    register(
        "sweep",
        "diffloom_studio.commands.many:sweep",
        summary="Run an experiment over many seeds and write a table",
    )
    register(
        "dataset",
        "diffloom_studio.commands.many:dataset",
        summary="Make many videos of an experiment with random values, and write them in shards",
    )
    register("export", "diffloom_studio.commands.forward:export", summary="Write a motion as meshes, tables or videos")
    register("schema", "diffloom_studio.commands.files:schema", summary="Print the JSON schema of experiment files")
    register("warm", "diffloom_studio.commands.files:warm", summary="Compile ahead the programs of experiments")
    register("demo", "diffloom_studio.commands.run:demo", summary="Fit a bundled clip and write its report")
    register("new", "diffloom_studio.commands.files:new", summary="Look at a video and write an experiment for it")
    register(
        "measure",
        "diffloom_studio.commands.measure:measure",
        summary="Look at a video and find the numbers of its motion",
    )
    register(
        "audit",
        "diffloom_studio.commands.measure:audit",
        summary="Judge whether a video obeys one physical law",
    )
    register("explain", "diffloom_studio.explain:explain", summary="Explain a parameter, a setting or a key of a file")


@hookimpl
def diffloom_register_displays(register: Register) -> None:
    """Register the displays of notebooks and the console."""
    register("result", "diffloom_studio.notebook:format_result", summary="A result as HTML")
    register("plot", "diffloom_studio.saving:plot_result", summary="A result as a figure of matplotlib")
    register("report", "diffloom_studio.saving:save_report", summary="The report of a result, written to a file")
    register("video", "diffloom_studio.saving:save_video", summary="A target or a view, written as a video")
    register("scene", "diffloom_studio.notebook:format_scene", summary="A scene as HTML")
    register("target", "diffloom_studio.notebook:format_target", summary="A target as HTML")
    register(
        "progress",
        "diffloom_studio.console:make_watcher",
        summary="The progress of a fit, in a terminal or a notebook",
    )
