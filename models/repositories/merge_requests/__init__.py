"""Merge requests and merge trains."""
