"""Webhooks, in both directions, and links to other forges."""
