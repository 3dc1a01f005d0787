"""Exact coverage: a renderer whose pixels are the box-filtered image of the opaque scene."""
