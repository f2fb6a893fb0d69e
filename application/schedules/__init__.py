"""Pipelines of schedules."""
