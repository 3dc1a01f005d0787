"""How things of a fit show in a notebook."""
