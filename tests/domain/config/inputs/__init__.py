"""Tests of `domain.config.inputs.inputs`."""
