"""Corpora that need no download: each is made on the spot, the same for the same seed."""
