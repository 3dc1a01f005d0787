"""Soft rasterizer: every face touches every pixel a little: the renderer "softras" of diffloom."""
