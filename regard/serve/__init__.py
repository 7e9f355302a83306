"""Answers for every client that people already have."""
