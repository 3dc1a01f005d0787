"""Renderer "dibr" of diffloom: DIB-R (Chen et al. 2019), hard foreground and soft silhouette."""
