"""Tests of `steps.bundle`."""
