"""Thin shells of triangles that stretch, shear and bend: the model "cloth" of diffloom."""
