"""Tests of mirrors."""
