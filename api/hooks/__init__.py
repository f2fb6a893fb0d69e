"""Webhooks that forges call."""
