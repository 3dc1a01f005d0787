"""Renderer "softras" of diffloom: the soft rasterizer (Liu et al. 2019), whose faces all touch every pixel a little."""
