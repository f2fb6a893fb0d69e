"""Graphs of jobs: which node stands for which jobs, where it stands, what took longest, and when each job ran."""
