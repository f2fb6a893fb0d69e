"""Somebody's working copy, for the command line."""
