"""Webhooks: what is sent of each event, and how it gets there."""
