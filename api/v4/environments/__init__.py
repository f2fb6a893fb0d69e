"""Environments, deployments, and who may deploy."""
