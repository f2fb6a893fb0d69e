"""Readers of reports."""
