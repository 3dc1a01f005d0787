"""Balls that float on waves: a plugin of diffloom that lives outside of it."""
