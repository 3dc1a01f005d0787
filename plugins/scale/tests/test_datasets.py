"""Datasets: the same bytes on any engine, resumed where they were stopped, read as a torch Dataset."""

from __future__ import annotations

import json
import tarfile

import numpy as np
import pytest
import torch

from diffloom.interfaces import InputError, NoGradient
from diffloom_experiments import build_scene, build_truth, load_file
from diffloom_scale import VideoDataset
from diffloom_scale.datasets import Recipe, make_dataset
from diffloom_scale.engines import LocalPool

EXPERIMENT = """
title = "A chain"
[model]
name = "springs"
positions = [[0, 0.5, 0], [0.4, 0.5, 0], [0.8, 0.5, 0]]
springs = [[0, 1], [1, 2]]
on_ground = false
radius = { choice = [0.05, 0.1] }
[time]
dt = 2e-3
steps = 40
[camera]
distance = 3
size = [15, 20]
[renderer]
name = "softras"
[target]
rate = 50
[truth]
stiffness = { log_uniform = [50.0, 200.0] }
velocity = { normal = [0.0, 0.5], each = true }
"""


@pytest.fixture
def made(tmp_path):
    def made(folder, shard=4, count=10, kind="npz", text=EXPERIMENT):
        (tmp_path / "chain.toml").write_text(text)
        recipe = Recipe(str(tmp_path / "chain.toml"), count, shard, seed=7, format=kind)
        seen = []
        about = make_dataset(recipe, tmp_path / folder, LocalPool(1), lambda there, new: seen.append(new))
        return tmp_path / folder, about, sum(seen)

    return made


def test_samples_are_those_of_single_scenes(made, tmp_path):
    folder, about, count = made("set")
    data = VideoDataset(folder)
    assert count == len(data) == 10 and len(about["shards"]) == 3
    for k in (0, 3, 9):
        loaded = load_file(tmp_path / "chain.toml", changes={"seed": 7 + k})
        scene = build_scene(loaded)
        values = build_truth(loaded, scene)
        item = data[k]
        assert item["index"] == k
        assert float(item["values"]["stiffness"]) == float(values["stiffness"])
        image = scene.render(values, item["times"], ("rgba",), NoGradient()).image
        assert torch.equal(item["video"], image.bytes()[..., :3])
    assert len({float(data[k]["values"]["stiffness"]) for k in range(10)}) == 10


def test_a_camera_that_exposes_for_a_while_records_the_same_in_a_dataset(made, tmp_path):
    blurred = EXPERIMENT.replace("distance = 3\n", "distance = 3\nexposure = 0.015\nsubframes = 3\n")
    sharp, seen = (
        VideoDataset(made(name, 2, 2, text=text)[0])[1] for name, text in (("a", EXPERIMENT), ("b", blurred))
    )
    loaded = load_file(tmp_path / "chain.toml", changes={"seed": 7 + 1})
    scene = build_scene(loaded)
    image = scene.render(build_truth(loaded, scene), seen["times"], ("rgba",), NoGradient()).image
    assert torch.equal(seen["video"], image.bytes()[..., :3])
    assert not torch.equal(seen["video"], sharp["video"])


def test_sample_k_depends_on_nothing_but_k(made):
    first, second = VideoDataset(made("a", 4)[0]), VideoDataset(made("b", 3, count=5)[0])
    for k in range(5):
        assert torch.equal(first[k]["video"], second[k]["video"])
    assert made("c")[1]["shards"] == made("a")[1]["shards"], "the same bytes"


def test_a_stopped_dataset_goes_on(made):
    folder, _, _ = made("set")
    whole = (folder / "shard-000001.tar").read_bytes()
    (folder / "shard-000001.tar").write_bytes(whole[:700])
    (folder / "shard-000002.tar.json").unlink()
    assert made("set")[2] == 4 + 2, "the damaged shard and the one that was not recorded"
    assert (folder / "shard-000001.tar").read_bytes() == whole
    assert made("set")[2] == 0
    with pytest.raises(InputError, match="dataset of another file"):
        made("set", kind="mp4")


def test_shards_have_the_layout_of_webdataset(made):
    folder, _, _ = made("set", kind="mp4")
    with tarfile.open(folder / "shard-000000.tar") as tar:
        names = tar.getnames()
        told = json.loads(tar.extractfile("00000001.json").read())
    assert names == [f"{k:08d}.{kind}" for k in range(4) for kind in ("json", "mp4")]
    assert told["seed"] == 8 and set(told["values"]) == {"stiffness", "velocity"}
    item = VideoDataset(folder)[1]
    assert item["video"].shape == (len(told["times"]), 15, 20, 3)
    exact = VideoDataset(made("exact")[0])[1]["video"]
    assert float((item["video"].float() - exact.float()).abs().mean()) < 6.0, "compressed, but the same video"


def test_the_datasheet_tells_the_draws(made):
    folder, _, _ = made("set")
    page = (folder / "datasheet.md").read_text()
    numbers = [float(VideoDataset(folder)[k]["values"]["stiffness"]) for k in range(10)]
    (row,) = [line for line in page.splitlines() if line.startswith("| stiffness")]
    assert '{"log_uniform": [50.0, 200.0]}' in row and "N/m" in row
    assert f"{np.mean(numbers):.4g}" in row and f"{np.max(numbers):.4g}" in row


def test_wrong_recipes_are_refused(tmp_path):
    with pytest.raises(InputError, match="--count: got 0"):
        Recipe("x.toml", 0)
    with pytest.raises(InputError, match="expected one of mp4, npz"):
        Recipe("x.toml", 1, format="avi")
    with pytest.raises(InputError, match="not a dataset"):
        VideoDataset(tmp_path)


def test_the_command_reports_new_and_existing_videos(tmp_path):
    from click.testing import CliRunner

    from diffloom_studio.commands.many import dataset

    (tmp_path / "chain.toml").write_text(EXPERIMENT)
    words = [
        str(tmp_path / "chain.toml"),
        "--count",
        "3",
        "--out",
        str(tmp_path / "set"),
        "--shard",
        "2",
        "--format",
        "npz",
    ]
    first, again = (CliRunner().invoke(dataset, words, catch_exceptions=False) for _ in range(2))
    assert first.exit_code == again.exit_code == 0
    assert "3 of 3 videos" in first.output and "made 3 videos" in first.output
    assert "MiB in 2 shards" in first.output
    assert "3 of 3 videos exist already" in again.output
    assert "made" not in again.output
    assert len(VideoDataset(tmp_path / "set")) == 3
