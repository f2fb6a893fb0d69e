"""Tests of `domain.config.rules.rules`."""
