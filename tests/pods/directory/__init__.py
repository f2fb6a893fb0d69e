"""Tests of the directory as a service."""
