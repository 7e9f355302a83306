"""Looking inside: reads and writes at taps, and never asks which architecture it holds."""
