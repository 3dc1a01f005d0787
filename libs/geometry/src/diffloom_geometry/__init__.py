"""Meshes: shapes, checks and the quantities that follow from them. Import the module you need, such as
``diffloom_geometry.triangle_checks``."""
