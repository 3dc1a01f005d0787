"""Air: drag, lift and spin decay of whatever moves in it."""
