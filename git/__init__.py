"""Bare repositories on disk."""
