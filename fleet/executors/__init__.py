"""The ways to run a job's scripts; the shell of this machine is the first."""
