"""Tokens, keys and permissions."""
