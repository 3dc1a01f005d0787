"""The commands of the application, by name; each in a module of its own, imported when it is run."""

COMMANDS = {
    "run": "Fit an experiment's unknowns to its video",
    "simulate": "Simulate a scene forward",
    "render": "Draw a scene",
    "landscape": "Plot the loss over one or two parameters",
    "check-gradient": "Compare an experiment's gradient with finite differences",
    "sweep": "Run an experiment over many seeds and write a table",
    "dataset": "Make many videos of an experiment with values drawn anew, and write them in shards",
    "export": "Write what moved as meshes, tables or videos",
    "schema": "Print the JSON schema of experiment files",
    "warm": "Compile now what experiments will need",
    "demo": "Fit a bundled clip and write its report",
    "new": "Look at a video and write an experiment for it",
}
