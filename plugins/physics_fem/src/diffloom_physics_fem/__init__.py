"""Deformable solids of neo-Hookean tetrahedra: the model "fem" of diffloom."""
