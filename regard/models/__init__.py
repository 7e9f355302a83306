"""Whole models behind one contract, and `build`, which makes them from a config."""
