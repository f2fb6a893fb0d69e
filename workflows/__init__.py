"""Deterministic loops around the domain."""
