"""Runners that other people wrote, against our server."""
