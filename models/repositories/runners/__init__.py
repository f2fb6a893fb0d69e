"""Registered runners."""
