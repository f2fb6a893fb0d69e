"""Tests of jobs: operations, logs, artifacts, and what their tokens may do."""
