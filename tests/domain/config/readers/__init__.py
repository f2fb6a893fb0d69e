"""Tests of `domain.config.readers`."""
