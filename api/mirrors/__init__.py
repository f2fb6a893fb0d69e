"""Repositories kept like one elsewhere."""
