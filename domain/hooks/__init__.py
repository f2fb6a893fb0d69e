"""Webhooks, in both directions, and statuses that other forges are told."""
