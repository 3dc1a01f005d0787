"""One function for every format: the file's ending, or the format's name, says which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from diffloom.interfaces import InputError
from diffloom_fitting.file_writing import explained
from diffloom_studio.exports import meshes, tables, usd, videos
from diffloom_studio.playback import Body, Playback

#: By format: what writes it, and what it is.
WRITERS: dict[str, tuple[Callable[[Path, Body], Path], str]] = {
    "glb": (meshes.write_glb, "one file, every frame a morph target, animated"),
    "ply": (meshes.write_ply, "a folder, one file a frame, with colours"),
    "obj": (meshes.write_obj, "a folder, one file a frame"),
    "usd": (usd.write_usd, "one file with time samples (extra: usd)"),
    "usda": (usd.write_usd, "the same as text"),
    "usdc": (usd.write_usd, "the same in binary form"),
    "csv": (tables.write_csv, "one row a node and time: coordinates and velocities"),
    "parquet": (tables.write_parquet, "the same (extra: parquet)"),
}
VIDEOS = ("mp4", "gif")
FORMATS = (*WRITERS, *VIDEOS)
"""What `export` writes."""


def export(
    playback: Playback, path: str | Path, body: str = "fit", *, kind: str | None = None, frames: int = 61,
    view: str | None = None,
) -> Path:  # fmt: skip
    """Write one body of ``playback`` to ``path``; returns what was written.

    body: "start", "fit" or "truth". kind: one of FORMATS, where the path does not end so. frames: how many. view: the
    label of the camera of a video, the first one unless given.
    """
    place = Path(path)
    chosen = (kind or place.suffix.removeprefix(".")).lower()
    if chosen not in FORMATS:
        raise InputError(f"export: got the format {chosen!r}; expected one of {', '.join(FORMATS)}")
    if frames < 2:
        raise InputError(f"export: got {frames} frames; expected at least 2")
    with explained(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    if chosen in VIDEOS:
        return videos.write_view(place, playback, body, frames, view)
    write, _ = WRITERS[chosen]
    return write(place, playback.body(body, playback.times(frames)))
