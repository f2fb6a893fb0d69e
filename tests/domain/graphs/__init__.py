"""Graphs of jobs: their nodes, their places, their longest chain and their times."""
