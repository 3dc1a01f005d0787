"""Time-stepping schemes."""
