"""Meshes: shapes, checks and the quantities that follow from them. Import the module you need, such as
``diffloom.geometry.triangle_checks``."""
