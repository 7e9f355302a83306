"""The mechanisms of the notes, one small class each: recurrence, attention, positions, blocks, and what they share."""
