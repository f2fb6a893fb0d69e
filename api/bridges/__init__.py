"""Bridges carried out by the server: their downstream pipelines are made, and followed."""
