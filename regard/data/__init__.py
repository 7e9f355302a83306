"""From files and built-in corpora to batches of examples."""
