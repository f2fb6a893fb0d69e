"""Tests of the front and the supervisor."""
