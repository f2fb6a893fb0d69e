"""Tests of merge requests, their threads and approvals, merge trains."""
