"""Tests of runners as their administrators see them."""
