"""Tests of subscriptions to projects of other pods."""
