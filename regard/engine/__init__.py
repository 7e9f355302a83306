"""The contract without Python in the step: a native engine, and who is chosen when nobody listens."""
