"""Compilation of pipelines: reading, specialising, writing source, caching."""
