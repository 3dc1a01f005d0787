"""Rigid bodies with contact and friction: the model "rigid" of diffloom."""
