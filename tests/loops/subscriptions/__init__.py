"""Tests of subscriptions to other projects."""
