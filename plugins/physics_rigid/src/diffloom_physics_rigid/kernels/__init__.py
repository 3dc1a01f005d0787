"""Device functions of rigid bodies and their transposes."""
