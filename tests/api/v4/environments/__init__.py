"""Tests of environments, deployments, and who may deploy."""
