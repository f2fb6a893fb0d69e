"""Tests of the routes about pods and tag sets."""
