"""Tests of what a pod says of itself."""
