"""Small vectors, matrices and quaternions as tuples."""
