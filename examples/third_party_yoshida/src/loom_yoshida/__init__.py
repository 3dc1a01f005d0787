"""Yoshida's integrator: a plugin of diffloom that lives outside of it."""
