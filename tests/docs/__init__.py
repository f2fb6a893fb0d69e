"""Tests of the documentation: what is generated is up to date."""
