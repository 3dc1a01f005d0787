"""Mesh files from strangers: claims, references to other files, scenes that unfold, and damage of every kind."""

import contextlib
import json
import random
import struct

import numpy as np
import pytest
import trimesh

from diffloom.interfaces import InputError
from diffloom_geometry import check_tetmesh, mesh_files, read_solid, read_triangles

BALL = trimesh.creation.icosphere(subdivisions=1)


def exported(kind: str) -> bytes:
    content = trimesh.exchange.export.export_mesh(BALL, None, file_type=kind)
    return content.encode() if isinstance(content, str) else content


def glb(head: dict) -> bytes:
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<4sII", b"glTF", 2, 20 + len(text)) + struct.pack("<I4s", len(text), b"JSON") + text


@pytest.mark.parametrize("kind", ["obj", "ply", "stl", "off", "glb"])
def test_undamaged_files_are_read(tmp_path, kind):
    path = tmp_path / f"ball.{kind}"
    path.write_bytes(exported(kind))
    assert len(read_triangles(path).faces) == len(BALL.faces)


@pytest.mark.parametrize("count", [10**9, 2**31, 10**18, 10**29])
def test_counts_that_the_file_cannot_hold(tmp_path, count):
    files = {
        "a.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty float x\nend_header\n" % count,
        "b.ply": f"ply\nformat ascii 1.0\nelement face {count}\nproperty list uchar int v\nend_header\n1 2".encode(),
        "c.off": f"OFF\n{count} 3 0\n0 0 0\n".encode(),
        "d.glb": glb({"accessors": [{"count": count, "componentType": 5126, "type": "VEC3"}], "meshes": []}),
        "e.stl": b"\0" * 80 + struct.pack("<I", min(count, 2**32 - 1)) + b"\0" * 50,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"mesh '{name}'"):
            read_triangles(tmp_path / name)


def test_scenes_that_unfold(tmp_path):
    part = {"attributes": {"POSITION": 0}}
    head = {"accessors": [{"count": 1}], "meshes": [{"primitives": [part]}]}
    twice = {**head, "nodes": [{"children": [1, 1]}, {"mesh": 0}]}
    (tmp_path / "graph.glb").write_bytes(glb(twice))
    with pytest.raises(InputError, match="expected a tree"):
        read_triangles(tmp_path / "graph.glb")
    rows = 1000
    many = {**head, "accessors": [{"count": rows}], "nodes": [{"mesh": 0} for _ in range(1 + 20_000_000 // rows)]}
    (tmp_path / "many.glb").write_bytes(glb(many))
    with pytest.raises(InputError, match="repeats meshes up to"):
        read_triangles(tmp_path / "many.glb")


def test_no_other_file_is_opened(tmp_path):
    """Neither materials nor buffers nor images: what a mesh names stays closed."""
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.zeros(9, np.float32).tobytes())
    head = {
        "asset": {"version": "2.0"}, "buffers": [{"uri": "secret.bin", "byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}], "scene": 0,
    }  # fmt: skip
    (tmp_path / "out.gltf").write_text(json.dumps(head))
    with pytest.raises(InputError, match="in one file"):
        read_triangles(tmp_path / "out.gltf")
    ball = trimesh.exchange.export.export_mesh(BALL, None, file_type="obj")
    (tmp_path / "ball.obj").write_text("mtllib ../secret.bin\nusemtl a\n" + ball)
    assert len(read_triangles(tmp_path / "ball.obj").faces) == len(BALL.faces)


@pytest.mark.parametrize("name", ["a.dae", "a.3mf", "a.xaml", "a.x3d", "a.zip", "a.gz", "a.svg", "a", "a.step"])
def test_unknown_formats_are_refused_without_reading(tmp_path, name):
    (tmp_path / name).write_bytes(b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>')
    with pytest.raises(InputError, match="expected one of .obj, .ply"):
        read_triangles(tmp_path / name)


def test_large_files_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh_files, "MOST_BYTES", 1000)
    for name in ("a.obj", "a.tet", "a.msh"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(2**29)
        with pytest.raises(InputError, match="larger than"):
            read_triangles(tmp_path / name) if name == "a.obj" else read_solid(tmp_path / name)


TETS = {
    "a.tet": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nt 0 1 2 3\n",
    "a.msh": "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
    "$Elements\n1\n1 4 2 1 1 1 2 3 4\n$EndElements\n",
}


@pytest.mark.parametrize("name", list(TETS))
def test_damaged_solids_are_refused(tmp_path, name):
    path, draw, text = tmp_path / name, random.Random(4), TETS[name].encode()
    words = [b"-1", b"2147483648", b"9" * 30, b"nan", b"1e999", b"\xff\xfe", b"\0", b"", b"x", b"4 " * 50]
    for _ in range(300):
        parts = text.split(b" ")
        parts[draw.randrange(len(parts))] = draw.choice(words)
        path.write_bytes(b" ".join(parts)[: draw.choice([None, draw.randrange(len(text))])])
        with contextlib.suppress(InputError):
            check_tetmesh(read_solid(path))


@pytest.mark.parametrize("kind", ["ply", "stl", "glb", "off", "obj"])
def test_damaged_surfaces_are_refused(tmp_path, kind):
    path, draw = tmp_path / f"ball.{kind}", random.Random(5)
    whole = exported(kind)
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(draw.randrange(1, 6)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        path.write_bytes(bytes(content[: draw.choice([None, draw.randrange(len(content))])]))
        with contextlib.suppress(InputError):
            assert len(read_triangles(path).faces) > 0
