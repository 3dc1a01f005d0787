"""What the plugin registers, by name: the class, where it has one, and a summary. Imports nothing."""

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

LOSSES = {
    "mse": ("PixelError", "Mean squared difference of pixels"),
    "silhouette": ("SilhouetteError", "Mean squared difference of outlines"),
    "iou": ("IoU", "One minus the overlap of outlines"),
    "interior": ("InteriorError", "Colours well inside the outline"),
    "multiscale": ("MultiScale", "Pixel error at several scales"),
    "moments": ("Moments", "Place and size of the outline, from any distance"),
    "region": ("Region", "Another loss on a rectangle of the image"),
    "centre": ("CentreError", "Squared distance of the nodes' middle"),
    "state": ("StateError", "Mean squared difference of states, not pixels"),
    "track": ("TrackError", "Difference of centroid and radius in the image"),
}

OPTIMISERS = {
    "adam": ("Adam", "Adam: steps of one size, whatever the gradient's"),
    "cma": ("CmaEs", "CMA-ES: a search without gradients, for a start"),
    "gauss_newton": ("GaussNewton", "Gauss-Newton with damped steps"),
    "basin_hopping": ("BasinHopping", "Basin hopping"),
    "lbfgs": ("Lbfgs", "L-BFGS, for very many unknowns"),
    "line_scan": ("LineScan", "Gradient descent, the best of many lengths"),
    "sgd": ("Sgd", "Gradient descent with momentum"),
}

SEGMENTERS = {
    "plate": ("BackgroundPlate", "What differs from a background plate"),
    "colour": ("ColourKey", "What has a colour"),
    "motion": ("Motion", "What differs from frames before and after"),
}

LOGGERS = {
    "tensorboard": ("TensorBoard", "Event files for TensorBoard"),
    "mlflow": ("MlFlow", "Runs of MLflow"),
}
