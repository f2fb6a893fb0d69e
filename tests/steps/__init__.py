"""Tests of the step runner."""
