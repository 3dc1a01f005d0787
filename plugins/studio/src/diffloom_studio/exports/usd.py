"""USD: a mesh whose points have time samples; needs usd-core."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffloom.interfaces import InputError
from diffloom_fitting.file_writing import new_file
from diffloom_studio.playback import Body

RATE = 1000.0  # time codes a second, so that any frame lies near a whole one


def write_usd(path: Path, body: Body) -> Path:
    """A stage with one mesh, y up, in metres."""
    try:
        from pxr import Usd, UsdGeom, Vt
    except ImportError as error:
        raise InputError('export: USD needs usd-core; pip install "diffloom-fitting[usd]"') from error
    with new_file(path) as beside:
        stage = Usd.Stage.CreateNew(str(beside))
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(RATE)
        stage.SetStartTimeCode(RATE * float(body.times[0]))
        stage.SetEndTimeCode(RATE * float(body.times[-1]))
        mesh = UsdGeom.Mesh.Define(stage, f"/{body.name}")
        stage.SetDefaultPrim(mesh.GetPrim())
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(body.faces), 3, dtype=np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(body.faces.astype(np.int32).reshape(-1)))
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        points = mesh.CreatePointsAttr()
        for time, vertices in zip(body.times, body.vertices, strict=True):
            points.Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(vertices)), RATE * float(time))
        if body.colours is not None:
            shown = mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex)
            shown.Set(Vt.Vec3fArray.FromNumpy(body.colours.astype(np.float32) / 255.0))
        stage.GetRootLayer().Save()
    return path
