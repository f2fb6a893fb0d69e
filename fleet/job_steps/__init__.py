"""Runs the steps of a job (`run`) by a step runner, here or elsewhere."""
