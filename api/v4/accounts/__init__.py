"""People, and the tokens and keys by which they are known."""
