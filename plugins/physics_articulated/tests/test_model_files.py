"""URDF and MJCF files: contents, parts that are not read, and refusals."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom.interfaces import InputError, State
from diffloom_physics_articulated.model import ArticulatedModel
from diffloom_physics_articulated.model_files import read_model_file

sys.path.insert(0, str(Path(__file__).parent))
from test_against_mujoco import accelerations, other, places

URDF = """<?xml version="1.0"?>
<robot name="two">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 -0.2" rpy="0.1 0.2 0.3"/><mass value="1.5"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 -0.2"/><geometry><cylinder radius="0.05" length="0.4"/></geometry>
      <material name="red"/></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 -0.15"/><mass value="0.7"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="5" velocity="3"/><dynamics damping="0.2" friction="0.0"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.4" rpy="0 0.5 0"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="5" velocity="3"/>
  </joint>
</robot>
"""

MJCF = """<mujoco model="leg">
  <compiler angle="degree"/>
  <option timestep="0.002"/>
  <default>
    <joint damping="0.1" armature="0.01"/>
    <geom contype="0" conaffinity="0" density="800"/>
    <default class="thin"><geom rgba="0 1 0 1"/><joint damping="0.3"/></default>
  </default>
  <asset><material name="blue" rgba="0 0 1 1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="thigh" pos="0.1 0.2 1" euler="10 20 30">
      <joint name="hip x" axis="1 0 0" pos="0 0 0.1" range="-170 170"/>
      <joint name="hip y" axis="0 1 0" pos="0.02 0 0.1" stiffness="2" springref="10"/>
      <geom type="capsule" fromto="0 0 0.1 0.05 0 -0.4" size="0.05" material="blue"/>
      <site name="mark"/>
      <body name="shank" pos="0 0 -0.4" childclass="thin">
        <joint name="knee" axis="0 1 0" frictionloss="0"/>
        <geom type="box" size="0.05 0.04 0.2" pos="0 0 -0.2"/>
        <body name="foot" pos="0 0 -0.4" axisangle="0 1 0 40">
          <joint name="ankle" type="ball"/>
          <inertial pos="0.05 0 0" mass="0.5" diaginertia="0.001 0.002 0.0015" quat="0.9 0.1 0.2 0"/>
          <geom type="sphere" size="0.06"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="knee"/><position joint="hip x" kp="5"/><motor joint="knee" gear="30"/></actuator>
</mujoco>
"""


def written(folder: Path, text: str, name: str = "model.xml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_urdf_says_links_joints_and_limits(tmp_path: Path) -> None:
    found = read_model_file(written(tmp_path, URDF, "two.urdf"))
    base, upper, lower = found.tree.links
    assert (base.joint, upper.joint, lower.joint) == ("fixed", "revolute", "prismatic")
    assert upper.mass == 1.5 and upper.values["damping"] == 0.2
    assert (upper.values["lower"], upper.values["upper"]) == (-1.0, 2.0)
    assert np.allclose(upper.centre, (0, 0, -0.2)) and upper.pieces[0].colour == (1.0, 0.0, 0.0)
    # The cylinder lies along the file's z, over the link's whole length.
    assert np.allclose([upper.pieces[0].vertices[:, 2].min(), upper.pieces[0].vertices[:, 2].max()], (-0.4, 0.0))
    assert found.unread == (
        "robot/link/collision", "robot/joint/limit effort='5' (2 times)", "robot/joint/limit velocity='3' (2 times)"
    )  # fmt: skip


def test_the_files_vertical_axis_becomes_y(tmp_path: Path) -> None:
    model = ArticulatedModel([{"file": written(tmp_path, URDF)}])
    params = model.params(torch.float64)
    state = model.initial_state(params)
    _, origins = model.poses(State(state.q[None], state.u[None]), params)  # type: ignore[arg-type]
    assert torch.allclose(origins[0, 1], torch.tensor([0.0, 1.0, 0.0]).double())
    floating = read_model_file(written(tmp_path, URDF), floating=True)
    assert floating.tree.links[0].joint == "free"


def test_an_mjcf_says_bodies_joints_and_defaults(tmp_path: Path) -> None:
    found = read_model_file(written(tmp_path, MJCF))
    names = [link.name for link in found.tree.links]
    assert names == ["thigh/0", "thigh", "shank", "foot"]
    shank = found.tree.links[2]
    assert shank.values["damping"] == 0.3 and shank.values["armature"] == 0.01
    assert shank.pieces[0].colour == (0.0, 1.0, 0.0)
    assert found.tree.links[1].pieces[0].colour == (0.0, 0.0, 1.0)
    assert np.allclose(found.tree.links[0].values["upper"], np.deg2rad(170.0))
    assert found.tree.links[0].values["servo_stiffness"] == 5.0
    for what in ("mujoco/option", "worldbody/geom", "body/site", "contype='0'", "actuator/motor"):
        assert any(what in line for line in found.unread), (what, found.unread)


def test_an_mjcf_moves_as_in_mujoco(tmp_path: Path) -> None:
    """Accelerations at a random state, from the same file."""
    model = ArticulatedModel([read_model_file(written(tmp_path, MJCF)).tree])
    random = torch.Generator().manual_seed(4)
    start = model.initial_state(model.params(torch.float64))
    q, u = start.q.clone(), torch.randn(start.u.shape, generator=random, dtype=torch.float64)
    q[:, 4:] = 0.5 * torch.randn(q[:, 4:].shape, generator=random, dtype=torch.float64)
    q[:, :4] = torch.nn.functional.normalize(torch.randn(1, 4, generator=random, dtype=torch.float64), dim=1)
    a, b = places(model, 0)
    answer = other([{"xml": MJCF, "states": [[q[0, a].tolist(), u[0, b].tolist(), [0.0] * len(b)]]}])[0]
    ours = accelerations(model, State(q, u), torch.zeros_like(u))[0, b].numpy()
    expected = np.array(answer["acceleration"][0])
    assert np.abs(ours - expected).max() <= 1e-9 * np.abs(expected).max()


BOMB = '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>'


@pytest.mark.parametrize(
    "text, words",
    [
        (BOMB, "entities, which are not read"),
        ("<robot name='x'", "is not XML"),
        ("<scene/>", "expected <robot> .URDF. or <mujoco> .MJCF."),
        (URDF.replace('type="prismatic"', 'type="screw"'), "'elbow' is 'screw'; expected one of"),
        (URDF.replace('<child link="lower"/>', '<child link="upper"/>'), "two joints carry the link 'upper'"),
        (URDF.replace('xyz="0 0 1"', 'xyz="0 zero 1"'), "got '0 zero 1'; expected 3 numbers"),
        (
            URDF.replace('<cylinder radius="0.05" length="0.4"/>', '<mesh filename="../outside.stl"/>'),
            "in its own folder",
        ),
        (URDF.replace('<cylinder radius="0.05" length="0.4"/>', '<mesh filename="/etc/passwd"/>'), "in its own folder"),
        (
            URDF.replace('<cylinder radius="0.05" length="0.4"/>', '<mesh filename="http://x/a.stl"/>'),
            "in its own folder",
        ),
    ],
)
def test_refused_files(tmp_path: Path, text: str, words: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "outside.stl").write_text("solid")
    with pytest.raises(InputError, match=words):
        read_model_file(written(inner, text))


def test_a_link_to_a_file_outside_is_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "outside.stl").write_text("solid")
    (inner / "part.stl").symlink_to(tmp_path / "outside.stl")
    text = URDF.replace('<cylinder radius="0.05" length="0.4"/>', '<mesh filename="part.stl"/>')
    with pytest.raises(InputError, match="in its own folder"):
        read_model_file(written(inner, text))


def make_chain(count: int) -> str:
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="l{k}">{inertial}</link>' for k in range(count))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k - 1}"/><child link="l{k}"/></joint>'
        for k in reversed(range(1, count))
    )
    return f'<robot name="chain">{links}{joints}</robot>'


def test_long_chains_are_read_in_time_that_grows_with_their_length(tmp_path: Path) -> None:
    path = tmp_path / "chain.urdf"
    path.write_text(make_chain(2000))
    began = time.process_time()
    tree = read_model_file(path).tree
    assert [link.name for link in tree.links] == [f"l{k}" for k in range(2000)]
    assert time.process_time() - began < 10.0  # some minutes before
    path.write_text(make_chain(3000))
    with pytest.raises(InputError, match="3000 links; expected at most 2000"):
        read_model_file(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<mujoco><include file="secret.xml"/></mujoco>', "<include> of 'secret.xml' is not read"),
        ('<mujoco><worldbody><body><include file="arm.xml"/></body></worldbody></mujoco>', "'arm.xml' is not read"),
        (
            '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="a.xacro"/></robot>',
            "'a.xacro' is not read",
        ),
        ("<mujoco><worldbody>" + "<body>" * 5000 + "</body>" * 5000 + "</worldbody></mujoco>", "deeper than 300"),
        ("<mujoco>" + "<default>" * 5000 + "</default>" * 5000 + "</mujoco>", "deeper than 300"),
    ],
)
def test_parts_elsewhere_and_endless_nesting_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "model.xml").write_text(text)
    with pytest.raises(InputError, match=words):
        read_model_file(tmp_path / "model.xml")
