"""Small linear algebra as device functions: vectors, matrices and quaternions as flat tuples."""
