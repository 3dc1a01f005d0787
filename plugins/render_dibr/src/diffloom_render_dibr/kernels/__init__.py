"""The numbers of DIB-R: coverage, interpolation weights, distances, the soft mask, and their adjoints."""
