"""Reads the reports of jobs: bytes in, counts and findings out."""
