"""Doors for other pods of the cluster."""
