"""Merge requests, their threads and approvals, merge trains."""
