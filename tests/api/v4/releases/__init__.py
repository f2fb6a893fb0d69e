"""Tests of releases and their links."""
