"""Merge requests: opened, changed, merged, and their pipelines."""
