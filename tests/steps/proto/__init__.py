"""Tests of messages and calls of the step runner."""
