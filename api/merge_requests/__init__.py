"""Merge requests: kept in step with their branches, tested, merged; merge trains."""
