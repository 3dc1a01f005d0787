"""Resilient backpropagation: a plugin of diffloom that lives outside of it."""
