"""Webhooks out and in, and what is told by them."""
