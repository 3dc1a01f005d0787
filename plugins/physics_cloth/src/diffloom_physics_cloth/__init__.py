"""Thin shells: stretching, shearing and bending triangles: the model "cloth" of diffloom."""
