"""`diffloom new clip.mp4`: what a video shows, and an experiment to begin with."""
