"""A loss that compares edges: a plugin of diffloom that lives outside of it."""
