"""Attention over the source as an alignment of words."""
