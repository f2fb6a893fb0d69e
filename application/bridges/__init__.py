"""Pipelines that other pipelines start."""
