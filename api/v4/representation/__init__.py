"""Rows as GitLab's JSON: pure functions, one file a noun."""
