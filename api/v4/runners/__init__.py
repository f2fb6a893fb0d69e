"""Runners as their administrators see them."""
