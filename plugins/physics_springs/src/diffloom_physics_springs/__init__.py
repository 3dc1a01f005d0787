"""Particles joined by damped springs: the model "springs" of diffloom."""
