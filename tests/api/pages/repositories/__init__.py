"""Tests of the pages of repositories."""
