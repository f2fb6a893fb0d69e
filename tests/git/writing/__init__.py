"""Tests of new commits, tags and trees, and moving refs."""
