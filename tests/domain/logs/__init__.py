"""Tests of what is read in the bytes of a log."""
