"""Releases, made by people and by jobs."""
