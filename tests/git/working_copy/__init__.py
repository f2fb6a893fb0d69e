"""Tests of somebody's working copy, for the command line."""
