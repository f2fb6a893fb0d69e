"""Tests of `domain.config.including`."""
