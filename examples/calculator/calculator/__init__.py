"""A small calculator: text goes through tokens and a tree to a number."""
