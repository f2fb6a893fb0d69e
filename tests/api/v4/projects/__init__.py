"""Tests of projects, and what is set for them."""
