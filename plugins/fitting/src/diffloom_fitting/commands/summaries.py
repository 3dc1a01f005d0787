"""The commands of the application, and what each does in a line."""

COMMANDS = {
    "run": "Fit an experiment's unknowns to its video",
    "simulate": "Simulate a scene forward",
    "render": "Draw a scene",
    "landscape": "Plot the loss over one or two parameters",
    "check-gradient": "Compare an experiment's gradient with finite differences",
    "sweep": "Run an experiment over many seeds and write a table",
    "schema": "Print the JSON schema of experiment files",
    "warm": "Compile now what experiments will need",
    "demo": "Fit a bundled clip and write its report",
}
