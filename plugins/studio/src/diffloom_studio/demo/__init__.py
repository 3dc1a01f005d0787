"""The bundled experiment of `diffloom demo` and its clip."""
