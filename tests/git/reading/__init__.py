"""Tests of what a repository holds: refs, commits, trees, files, differences."""
