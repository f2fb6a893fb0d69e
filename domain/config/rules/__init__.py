"""Conditions: expressions, patterns, globs, `rules`, `only` and `except`, `workflow`."""
