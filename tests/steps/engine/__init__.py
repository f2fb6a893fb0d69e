"""Tests of what runs steps."""
