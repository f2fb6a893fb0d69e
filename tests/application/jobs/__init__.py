"""Use cases of jobs."""
