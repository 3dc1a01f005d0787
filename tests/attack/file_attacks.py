"""Files damaged or made up at random: read to the last bit, or refused by name."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import torch
import trimesh
from tape import Tape

from diffloom.interfaces import InputError
from diffloom_control.networks import load_policy, save_policy
from diffloom_experiments import load_file
from diffloom_experiments.run_folder import read_checkpoint, read_history, write_checkpoint
from diffloom_fitting.checkpoints import append_record
from diffloom_fitting.loop import FitState, Record
from diffloom_fitting.scene.policy import Policy
from diffloom_geometry import check_tetmesh, read_solid, read_triangles
from diffloom_motion import Recording, load_motion
from diffloom_physics_articulated.model_files import read_model_file
from diffloom_scale.sweeps import read_outcome, write_outcome
from diffloom_scale.video_dataset import VideoDataset
from diffloom_studio.report.media import write_video
from diffloom_video import read_video
from diffloom_video.images import read_image

WORDS = (b"0", b"-1", b"4294967295", b"9" * 25, b"nan", b"1e999", b"\xff", b"\0" * 8, b"[" * 3000, b"../../etc/passwd")


def damaged(content: bytes, tape: Tape) -> bytes:
    """A copy with a few wounds."""
    draw = random.Random(tape.seed())
    made = bytearray(content)
    for _ in range(tape.whole(1, 6)):
        at = draw.randrange(len(made) + 1)
        kind = tape.choice(["flip", "word", "cut", "repeat"])
        if kind == "flip" and at < len(made):
            made[at] ^= 1 << draw.randrange(8)
        elif kind == "word":
            made[at : at + draw.randrange(8)] = draw.choice(WORDS)
        elif kind == "cut":
            del made[at : at + draw.randrange(1, 1 + len(made))]
        else:
            made[at:at] = made[:at][-200:]
    return bytes(made)


def checkpoint(folder: Path) -> tuple[Path, object]:
    path = folder / "checkpoint.pt"
    write_checkpoint(path, FitState(torch.arange(3, dtype=torch.float64), total=4))
    return path, lambda: read_checkpoint(path)


def history(folder: Path) -> tuple[Path, object]:
    path = folder / "history.jsonl"
    for k in range(3):
        append_record(path, Record(k, 0, 0, "adam", k, 0.5, {"a": [1.0]}, 0.1, 0.2, 1, 0, 1.0))
    return path, lambda: read_history(path)


def surface(kind: str):
    def make(folder: Path) -> tuple[Path, object]:
        path = folder / f"ball.{kind}"
        content = trimesh.exchange.export.export_mesh(trimesh.creation.icosphere(1), None, file_type=kind)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path, lambda: read_triangles(path)

    return make


def solid(folder: Path) -> tuple[Path, object]:
    path = folder / "one.tet"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ng all\nt 0 1 2 3\nvt 0 0\nf 0/0 1/0 2/0\n")
    return path, lambda: check_tetmesh(read_solid(path))


def picture(folder: Path) -> tuple[Path, object]:
    from PIL import Image

    path, buffer = folder / "a.png", io.BytesIO()
    Image.fromarray(np.arange(300, dtype=np.uint8).reshape(10, 10, 3)).save(buffer, "PNG")
    path.write_bytes(buffer.getvalue())
    return path, lambda: read_image(path)


def video(folder: Path) -> tuple[Path, object]:
    path = folder / "a.mp4"
    write_video(path, np.full((4, 32, 32, 3), 128, np.uint8), 24.0)
    return path, lambda: read_video(path)


def experiment(folder: Path) -> tuple[Path, object]:
    path = folder / "a.toml"
    path.write_text(
        'title = "a"\nseed = 1\n[model]\nname = "springs"\n[unknowns]\nstiffness = {}\n[camera]\nsize = [8, 8]\n'
    )
    return path, lambda: load_file(path)


ROBOT = """<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="0 0 -0.2"/><mass value="1.5"/>
<inertia ixx="0.02" iyy="0.03" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry><box size="1 1 1"/>
</geometry></visual></link><joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="2" velocity="3"/></joint></robot>"""
MUJOCO = """<mujoco><compiler angle="degree"/><default><joint damping="0.1"/></default><worldbody><body name="a"
pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3" mass="2"/><body name="b" pos="0 0 -.3"><joint name="h"
axis="0 1 0" range="-90 90"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05"/></body></body></worldbody>
<actuator><motor joint="h"/></actuator></mujoco>"""


def robot(text: str, suffix: str):
    def make(folder: Path) -> tuple[Path, object]:
        path = folder / f"robot.{suffix}"
        path.write_text(text)
        return path, lambda: read_model_file(path)

    return make


def motion_npz(folder: Path) -> tuple[Path, object]:
    path = folder / "motion.npz"
    np.savez(path, rows=np.random.default_rng(0).normal(size=(20, 7)), lengths=np.array([12, 8]))
    columns = {"position": [0, 1, 2], "orientation": [3, 4, 5, 6]}
    return path, lambda: Recording(str(path), 100.0, columns).read()


def motion_csv(folder: Path) -> tuple[Path, object]:
    path = folder / "motion.csv"
    path.write_text("toss,x,y,z\n" + "".join(f"{k // 5},{k},0.5,{-k}\n" for k in range(10)))
    return path, lambda: Recording(str(path), 100.0, {"position": ["x", "y", "z"]}, clip="toss").read()


def motion_file(folder: Path) -> tuple[Path, object]:
    path = folder / "motion.toml"
    path.write_text('title = "a"\n[recording]\nfile = "none.npz"\nrate = 100\n[model]\nname = "rigid"\n')
    return path, lambda: load_motion(path)


def weights(folder: Path) -> tuple[Path, object]:
    path = folder / "policy.pt"
    policy = Policy("activation", torch.nn.Linear(8, 3))
    save_policy(path, policy)
    return path, lambda: load_policy(path, policy)


def outcome(folder: Path) -> tuple[Path, object]:
    """Damage an outcome of a sweep: it is read unchanged, or not at all."""
    path, told = folder / "outcome.json", {"loss": 1.0, "values": [1.0, 2.0]}
    write_outcome(path, told)

    def read() -> None:
        assert read_outcome(path) in (None, told), "a changed outcome was taken"

    return path, read


def dataset(folder: Path) -> tuple[Path, object]:
    """A shard of videos, and the file beside it that lists it."""
    name, content = "000000.tar", io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        packed = io.BytesIO()
        np.savez(packed, frames=np.zeros((2, 4, 4, 3), np.uint8))
        told = {"values": {"mass": 1.0}, "times": [0.0, 0.1], "index": 0}
        for suffix, part in (("json", json.dumps(told).encode()), ("npz", packed.getvalue())):
            member = tarfile.TarInfo(f"000000.{suffix}")
            member.size = len(part)
            tar.addfile(member, io.BytesIO(part))
    path = folder / name
    path.write_bytes(content.getvalue())
    about = {"shards": [{"name": name}], "format": "npz", "size": [4, 4]}
    (folder / "dataset.json").write_text(json.dumps(about))

    def read() -> None:
        data = VideoDataset(folder)
        for number in range(len(data)):
            data[number]

    return path, read


KINDS = (checkpoint, history, robot(ROBOT, "urdf"), robot(MUJOCO, "xml"), motion_npz, motion_csv, motion_file, weights,
         outcome, dataset, surface("ply"), surface("stl"), surface("glb"), surface("off"), surface("obj"),
         solid, picture, video, experiment)  # fmt: skip


def reading(tape: Tape) -> str:
    """A damaged file of any kind is read or refused."""
    with tempfile.TemporaryDirectory() as place:
        path, read = tape.choice(KINDS)(Path(place))
        path.write_bytes(damaged(path.read_bytes(), tape))
        try:
            read()
        except InputError as error:
            return f"refused: {path.suffix} {str(error)[-60:]}"
    return f"read: {path.suffix}"


PROGRAM = """
import numpy as np
from diffloom_kernels import Program, device, launch

@device
def body(i, a, out):
    out[i] = a[i] + a[i]

def doubled(a, out):
    launch(a.shape[0], body, a, out)

a = np.arange(3.0)
out = np.zeros_like(a)
Program("attacked", (doubled,)).run("doubled", a, out, target="serial")
print("RESULT", *out)
"""


def cache(tape: Tape) -> str:
    """Put any files into the folder of compiled code: the result is right."""
    with tempfile.TemporaryDirectory() as place:
        script, folder = Path(place) / "attacked_kernels.py", Path(place) / "cache"
        script.write_text(PROGRAM)
        settings = {**os.environ, "DIFFLOOM_CACHE_DIR": str(folder), "DIFFLOOM_QUIET": "1"}
        for _ in range(3):
            done = subprocess.run([sys.executable, str(script)], env=settings, capture_output=True, text=True,
                                  timeout=200, check=False)  # fmt: skip
            assert done.returncode == 0 and "RESULT 0.0 2.0 4.0" in done.stdout, done.stderr[-500:]
            for path in sorted(folder.rglob("*")):
                if path.is_file() and path.suffix in (".code", ".py"):
                    path.write_bytes(damaged(path.read_bytes(), tape))
    return "right"
