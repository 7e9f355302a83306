"""Test time is sequential: choose a token, feed it back. Never asks which architecture it holds."""
