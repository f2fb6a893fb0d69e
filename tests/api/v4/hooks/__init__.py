"""Tests of webhooks, in both directions, and links to other forges."""
