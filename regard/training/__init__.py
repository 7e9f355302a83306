"""From a recipe to a run: preparing, learning, looking at the held-out part, never losing work."""
