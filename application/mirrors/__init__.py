"""Pulling mirrors."""
