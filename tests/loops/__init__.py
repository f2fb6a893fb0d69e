"""Tests of the loops that run beside the workflows."""
