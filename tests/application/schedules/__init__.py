"""Ticks from the REST API and from Temporal to their pipelines."""
