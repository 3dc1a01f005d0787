"""A ball to fall on: a plugin of diffloom that lives outside of it."""
