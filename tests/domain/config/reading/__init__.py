"""Tests of `domain.config.reading`."""
