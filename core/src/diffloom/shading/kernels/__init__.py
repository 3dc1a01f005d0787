"""Device functions that renderers share."""
