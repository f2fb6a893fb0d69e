"""Pipelines, jobs, and what the workflow and its neighbours write of them."""
