"""Tests of why jobs are as they are."""
