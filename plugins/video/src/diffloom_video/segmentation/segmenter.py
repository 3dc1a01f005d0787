"""The interface of a segmenter."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Video = NDArray[np.float32]
"""(frames, height, width, 3) in 0..1; mattes are the same without channels."""


class Segmenter(ABC):
    """Says where the object is. Implementations are frozen dataclasses, registered by name through the hook
    ``diffloom_register_segmenters``; a file chooses one with ``target.segment`` and sets its fields beside the name."""

    @abstractmethod
    def mattes(self, video: Video) -> NDArray[np.float32]:
        """(frames, height, width) in 0..1: how much of each pixel of ``video`` (frames, height, width, 3) is object.

        All zero where a frame does not show it. Edges that are blurred keep their part; what is no object but moves,
        such as a hand, is left out where the segmenter can tell.
        """
