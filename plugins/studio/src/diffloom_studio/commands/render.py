"""`diffloom render`: one image."""

from __future__ import annotations

from pathlib import Path

import click

from diffloom_studio.commands.options import Options, experiment_options


@click.command()
@click.argument("file", type=click.Path())
@experiment_options
@click.option("--time", "moment", type=float, default=0.0, show_default=True, help="When [s].")
@click.option("--out", type=click.Path(), default="image.png", show_default=True, help="The image (png).")
@click.option("--truth", is_flag=True, help="Use the true values of [truth] instead of [params] alone.")
@click.option("--view", "label", help="The label of the view, where there are several (default: the first).")
@click.option("--output", type=click.Choice(["rgba", "silhouette", "depth"]), default="rgba", show_default=True)
def render(
    file: str, options: Options, moment: float, out: str, truth: bool, label: str | None, output: str,
) -> None:  # fmt: skip
    """Draw the scene of FILE at one time."""
    import torch
    from PIL import Image

    from diffloom.interfaces import InputError, NoGradient
    from diffloom_experiments import build_scene
    from diffloom_experiments.experiments import build_truth
    from diffloom_fitting.file_writing import new_file
    from diffloom_fitting.validation import real

    real("render: --time [s]", moment, least=0.0)
    if Path(out).suffix.lower() != ".png":
        raise InputError(f"render: --out: got {out!r}; images are written as png: end the name so")
    loaded = options.load(file)
    scene = build_scene(loaded)
    scene = scene if label is None else scene.seen_from(label)
    values = build_truth(loaded, scene) if truth else {}
    with torch.no_grad():
        # The start is always among the times: a rollout of no steps is no rollout.
        times = torch.tensor([0.0, moment] if moment > 0.0 else [0.0, scene.dt], dtype=torch.float64)
        image = scene.render(values, times, (output,), NoGradient()).image
    assert image is not None
    shown = -1 if moment > 0.0 else 0
    if output == "rgba":
        pixels = image.bytes()[shown].numpy()
    else:
        plane = getattr(image, output)[shown]
        if output == "depth":
            far = scene.viewpoint.far
            near = plane[plane < far]
            low, high = (float(near.min()), float(near.max())) if near.numel() else (0.0, far)
            plane = torch.where(
                plane < far, 1.0 - 0.8 * (plane - low) / max(high - low, 1e-12), torch.zeros_like(plane)
            )
        pixels = (plane.clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    with new_file(Path(out)) as beside:
        Image.fromarray(pixels).save(beside, format="PNG")
    click.echo(f"drew {out}")
