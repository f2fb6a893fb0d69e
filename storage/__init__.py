"""Logs and artifacts in an object store."""
