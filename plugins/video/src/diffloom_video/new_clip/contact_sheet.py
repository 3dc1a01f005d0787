"""A contact sheet: frames with what was found in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from diffloom_fitting.targets import Target

ROWS, COLUMNS = 3, 4
MASK, SURE, UNSURE = (1.0, 0.0, 1.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def write_contact_sheet(path: Path, video: Target) -> None:
    """Twelve frames with their masks laid over them and a ring for each track: yellow where it is believed, red where
    it is not."""
    assert video.frames is not None
    assert video.masks is not None
    assert video.tracks is not None
    tiles = []
    for k in np.linspace(0, len(video) - 1, ROWS * COLUMNS).round().astype(int):
        image, mask = video.frames[k, ..., :3].double().numpy().copy(), video.masks[k].double().numpy()
        shown = image + 0.6 * mask[..., None] * (np.array(MASK) - image)
        column, row, radius, weight = video.tracks[k].tolist()
        if radius > 0.0:
            y, x = np.indices(mask.shape) + 0.5
            ring = np.abs(np.hypot(x - column, y - row) - radius) < 0.7
            shown[ring] = SURE if weight > 0.5 else UNSURE
        tiles.append(shown)
    rows = [np.concatenate(tiles[k : k + COLUMNS], axis=1) for k in range(0, len(tiles), COLUMNS)]
    Image.fromarray((np.concatenate(rows) * 255.0).round().astype(np.uint8)).save(path)
