"""Environments: where jobs deploy to, and who may."""
