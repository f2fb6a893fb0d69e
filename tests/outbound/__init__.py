"""Tests of `outbound`."""
