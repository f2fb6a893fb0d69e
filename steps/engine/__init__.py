"""Runs steps: one process a run, which outlives whoever asked for it."""
