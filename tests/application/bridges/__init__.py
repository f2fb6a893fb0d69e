"""Bridges from their configuration to the end of their downstream pipelines."""
