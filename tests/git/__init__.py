"""Tests of `git`: real git commands against real repositories."""
