"""`diffloom simulate`: forward only."""

from __future__ import annotations

from pathlib import Path

import click

from diffloom_studio.commands.options import Options, experiment_options


@click.command()
@click.argument("file", type=click.Path())
@experiment_options
@click.option("--out", type=click.Path(), help="Folder for video and states (default: simulated/<file's name>).")
@click.option("--rate", type=float, default=30.0, show_default=True, help="Frames a second.")
@click.option("--truth", is_flag=True, help="Use the true values of [truth] instead of [params] alone.")
@click.option("--video/--no-video", default=True, help="Whether to draw, or to write states only.")
def simulate(
    file: str, options: Options, out: str | None, rate: float, truth: bool, video: bool,
) -> None:  # fmt: skip
    """Simulate the scene of FILE and write video.mp4 (video-<label>.mp4 of each view) and states.npz (q, u, times)."""
    import time
    from itertools import accumulate

    import torch

    from diffloom.interfaces import NoGradient
    from diffloom_experiments import build_scene
    from diffloom_experiments.experiments import build_truth
    from diffloom_fitting.file_writing import explained
    from diffloom_fitting.scene import sample_times
    from diffloom_fitting.targets.synthesis import video_times
    from diffloom_fitting.trust.time_step import refuse_long_steps
    from diffloom_fitting.validation import real
    from diffloom_studio.report.states_file import write_states
    from diffloom_studio.report.video import write_video

    real("simulate: --rate [frames/s]", rate, above=0.0)
    loaded = options.load(file)
    scene = build_scene(loaded)
    values = build_truth(loaded, scene) if truth else {}
    folder = Path(out) if out is not None else Path("simulated") / Path(file).stem
    times = video_times(scene.steps * scene.dt, 0.0, rate)
    exposed = [scene.seen_from(label).exposed(times, values) for label in scene.viewpoints]
    whole = sample_times(torch.cat([times, *exposed]), scene.dt, scene.steps)
    ends = [0, *accumulate(len(part) for part in (times, *exposed))]
    parts = {label: whole.part(*ends[n + 1 : n + 3]) for n, label in enumerate(scene.viewpoints)}
    refuse_long_steps(scene, values)
    begin = time.perf_counter()
    with torch.no_grad():
        trajectory, params = scene.simulate(values, whole.save, NoGradient())
        simulated = time.perf_counter()
        videos = {
            label: scene.seen_from(label).draw(trajectory, params, values, ("rgba",), parts[label])[0].bytes()
            for label in (scene.viewpoints if video else ())
        }
    drawn = time.perf_counter()
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_states(folder / "states.npz", trajectory)
    click.echo(f"simulated {scene.steps} steps in {simulated - begin:.2f} s: {folder / 'states.npz'}")
    for label, frames_drawn in videos.items():
        place = folder / (f"video-{label}.mp4" if label else "video.mp4")
        write_video(place, frames_drawn[..., :3].numpy(), min(rate, 60.0))
        click.echo(f"drew {len(times)} frames in {(drawn - simulated) / len(videos):.2f} s: {place}")
