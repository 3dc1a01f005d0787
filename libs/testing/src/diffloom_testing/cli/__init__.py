"""Commands for plugin authors: ``diffloom plugins check`` and ``diffloom plugins new``."""
