"""Tests of the perdure command."""
