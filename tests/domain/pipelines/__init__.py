"""Tests of what a pipeline and its jobs may become: states, turns, operations, and why something waits."""
