"""Repeatable measurements, each a ratio against something that runs beside it."""
