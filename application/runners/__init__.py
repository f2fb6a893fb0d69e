"""Registering runners, and their tokens."""
