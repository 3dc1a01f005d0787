"""DIB-R: hard foreground, soft silhouette: the renderer "dibr" of diffloom."""
