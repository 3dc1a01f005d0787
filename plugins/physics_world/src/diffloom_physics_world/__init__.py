"""Worlds: several bodies of any models in one scene, touching each other."""
