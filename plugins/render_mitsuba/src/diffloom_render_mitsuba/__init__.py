"""Mitsuba 3 as a renderer: the renderer "mitsuba" of diffloom."""
