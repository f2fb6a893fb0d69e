"""Tests of webhooks, in both directions, and statuses that other forges are told."""
