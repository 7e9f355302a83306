"""Which cell or head follows a property of the text, held against controls that can say no."""
