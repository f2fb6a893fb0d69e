"""Making, asking and removing pipelines."""
