"""Webhooks: their secrets, and trying them out."""
