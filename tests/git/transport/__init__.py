"""Tests of objects on their way: pushes, fetches, mirrors, snapshots."""
