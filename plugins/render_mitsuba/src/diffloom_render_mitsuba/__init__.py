"""Renderer "mitsuba" of diffloom: Mitsuba 3, matched to the rasterizers or photorealistic."""
