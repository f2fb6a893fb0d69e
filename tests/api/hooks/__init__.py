"""Tests of webhooks that forges call."""
