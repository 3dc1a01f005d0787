"""Heat on a plate: a plugin of diffloom from outside."""
