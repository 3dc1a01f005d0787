"""Commands `diffloom simulate`, `diffloom render` and `diffloom export`: forward only."""

from __future__ import annotations

from pathlib import Path

import click

from diffloom_studio.dispatch import ExperimentOptions, add_experiment_options, dispatch_by_kind


@click.command()
@dispatch_by_kind("file")
@click.argument("file", type=click.Path())
@add_experiment_options
@click.option("--out", type=click.Path(), help="Folder for video and states (default: simulated/<file's name>).")
@click.option("--rate", type=float, default=30.0, show_default=True, help="Frames per second.")
@click.option("--truth", is_flag=True, help="Use the true values of [truth] instead of [params] alone.")
@click.option("--video/--no-video", default=True, help="Draw a video, or write states only.")
def simulate(
    file: str, options: ExperimentOptions, out: str | None, rate: float, truth: bool, video: bool,
) -> None:  # fmt: skip
    """Simulate the scene of FILE and write video.mp4 (video-<label>.mp4 of each view) and states.npz (q, u, times)."""
    import time
    from itertools import accumulate

    import torch

    from diffloom.interfaces import NoGradient
    from diffloom_experiments import build_scene, build_truth
    from diffloom_fitting.files import explain_errors
    from diffloom_fitting.scene import sample_times
    from diffloom_fitting.targets import list_video_times
    from diffloom_fitting.trust import refuse_long_steps
    from diffloom_fitting.validation import check_real
    from diffloom_studio.report.media import write_states, write_video

    check_real("simulate: --rate [frames/s]", rate, above=0.0)
    loaded = options.load(file)
    scene = build_scene(loaded)
    values = build_truth(loaded, scene) if truth else {}
    folder = Path(out) if out is not None else Path("simulated") / Path(file).stem
    times = list_video_times(scene.steps * scene.dt, 0.0, rate)
    exposed = [scene.select_view(label).get_exposure_times(times, values) for label in scene.viewpoints]
    whole = sample_times(torch.cat([times, *exposed]), scene.dt, scene.steps)
    ends = [0, *accumulate(len(part) for part in (times, *exposed))]
    parts = {label: whole.part(*ends[n + 1 : n + 3]) for n, label in enumerate(scene.viewpoints)}
    refuse_long_steps(scene, values)
    begin = time.perf_counter()
    with torch.no_grad():
        trajectory, params = scene.simulate(values, whole.save, NoGradient())
        simulated = time.perf_counter()
        videos = {
            label: scene.select_view(label).draw(trajectory, params, values, ("rgba",), parts[label])[0].bytes()
            for label in (scene.viewpoints if video else ())
        }
    drawn = time.perf_counter()
    with explain_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_states(folder / "states.npz", trajectory)
    click.echo(f"simulated {scene.steps} steps in {simulated - begin:.2f} s: {folder / 'states.npz'}")
    for label, frames_drawn in videos.items():
        place = folder / (f"video-{label}.mp4" if label else "video.mp4")
        write_video(place, frames_drawn[..., :3].numpy(), min(rate, 60.0))
        click.echo(f"drew {len(times)} frames in {(drawn - simulated) / len(videos):.2f} s: {place}")


@click.command()
@dispatch_by_kind("file")
@click.argument("file", type=click.Path())
@add_experiment_options
@click.option("--time", "moment", type=float, default=0.0, show_default=True, help="Time of the image [s].")
@click.option("--out", type=click.Path(), help="The image (default: image.png), or the video of a run folder.")
@click.option("--size", help="Of a run folder: size of the video, such as 1080p or 1280x720 (default: 1080p).")
@click.option("--frames", type=click.IntRange(2), help="Of a run folder: frames, evenly over the time (default: 61).")
@click.option("--truth", is_flag=True, help="Use the true values of [truth] instead of [params] alone.")
@click.option("--view", "label", help="Label of the view, if there are several (default: the first).")
@click.option("--output", type=click.Choice(["rgba", "silhouette", "depth"]), default="rgba", show_default=True)
def render(
    file: str, options: ExperimentOptions, moment: float, out: str | None, size: str | None, frames: int | None,
    truth: bool, label: str | None, output: str,
) -> None:  # fmt: skip
    """Draw the scene of FILE at one time; or the motion that a run folder FILE found, as a video in any size.

    For a talk: diffloom render runs/demo --renderer mitsuba --size 1080p
    """
    if Path(file).is_dir():
        _render_run(file, options, out, size or "1080p", frames or 61, truth, label)
        return
    if size is not None or frames is not None:
        raise click.UsageError("--size and --frames belong to the video of a run folder; set camera.size for an image")
    out = out or "image.png"
    import torch
    from PIL import Image

    from diffloom.interfaces import InputError, NoGradient
    from diffloom_experiments import build_scene, build_truth
    from diffloom_fitting.files import new_file
    from diffloom_fitting.validation import check_real

    check_real("render: --time [s]", moment, least=0.0)
    if Path(out).suffix.lower() != ".png":
        raise InputError(f"render: --out: got {out!r}; images are written as png: give a name that ends in .png")
    loaded = options.load(file)
    scene = build_scene(loaded)
    scene = scene if label is None else scene.select_view(label)
    values = build_truth(loaded, scene) if truth else {}
    with torch.no_grad():
        # The start is always among the times, because a rollout needs at least one step.
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


def _render_run(
    place: str, options: ExperimentOptions, out: str | None, size: str, frames: int, truth: bool, label: str | None
) -> None:
    """Draw the video of a finished run."""
    from dataclasses import replace

    from diffloom_studio.playback import load_playback
    from diffloom_studio.presentation import render_run

    if replace(options, renderer=None) != ExperimentOptions():
        raise click.UsageError(
            "a run folder is drawn with its own settings; of these options it takes --renderer alone"
        )
    playback = load_playback(place)
    body = "truth" if truth else "fit" if "fit" in playback.values else "start"
    written = render_run(
        playback, Path(out) if out else Path(place) / "render.mp4", renderer=options.renderer or "coverage", size=size,
        body=body, view=label, frames=frames, told=click.echo,
    )  # fmt: skip
    click.echo(f"wrote {written}")


@click.command()
@dispatch_by_kind("place")
@click.argument("place", type=click.Path(exists=True))
@click.argument("out", type=click.Path())
@click.option("--body", default=None, help="start, fit or truth (default: the fit, where there is one).")
@click.option(
    "--format",
    "kind",
    default=None,
    metavar="NAME",
    help="Format, if the ending of OUT does not say it.",
)
@click.option("--frames", default=61, show_default=True, type=click.IntRange(2), help="Frames, evenly over the time.")
@click.option("--view", default=None, metavar="LABEL", help="The camera of a video (default: the first).")
def export(place: str, out: str, body: str | None, kind: str | None, frames: int, view: str | None) -> None:
    """Write the motion in PLACE, a run folder or an experiment file, to OUT.

    The ending selects the format: glb, usd, usda, usdc (animated meshes), ply, obj (a folder of frames), csv, parquet
    (trajectories), mp4, webp, gif (the view of a camera).
    """
    from diffloom_studio.exports import export as write
    from diffloom_studio.playback import load_playback

    playback = load_playback(place)
    chosen = body or ("fit" if "fit" in playback.values else "start")
    written = write(playback, out, chosen, kind=kind, frames=frames, view=view)
    click.echo(f"wrote {written}")
